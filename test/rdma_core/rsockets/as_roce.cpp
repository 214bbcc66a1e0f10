// SPDX-License-Identifier: Apache-2.0
// The same cases as RoCE, where messages are immediate data. The variable is read once per process.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kSet = ::setenv("IWARP_AS", "roce", 1);

}  // namespace
