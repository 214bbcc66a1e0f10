// SPDX-License-Identifier: Apache-2.0
// doctest itself, compiled once for all test programs. Separate from main(), because some programs
// have their own main().
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
