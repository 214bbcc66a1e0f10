// SPDX-License-Identifier: Apache-2.0
// Runs the same cases as RoCE, where messages are immediate data. The library reads the variable
// once per process.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kSet = ::setenv("IWARP_AS", "roce", 1);

}  // namespace
