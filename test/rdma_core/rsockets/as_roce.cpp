// SPDX-License-Identifier: Apache-2.0
// Runs cases of rdma_core.rsocket_calls, and the cases of datagram rsockets, with IWARP_AS=roce. An
// rsocket then sends its messages as immediate data. The library reads the variable once per
// process, so these cases are a separate program.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kSet = ::setenv("IWARP_AS", "roce", 1);

}  // namespace
