// SPDX-License-Identifier: Apache-2.0
// The C interface of the drop-in libraries, as a program compiled against rdma-core's headers meets
// it. This file is doctest's main() only.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
