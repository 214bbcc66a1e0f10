// SPDX-License-Identifier: Apache-2.0
// The implementation of doctest, compiled once for all test programs. main() is in another file
// because some test programs define their own.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
