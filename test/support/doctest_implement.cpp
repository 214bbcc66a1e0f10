// SPDX-License-Identifier: Apache-2.0
// doctest itself, compiled once for all test programs. Apart from main() beside it, because some
// programs have a main() of their own.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
