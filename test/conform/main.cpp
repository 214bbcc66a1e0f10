// SPDX-License-Identifier: Apache-2.0
// Entry of the unit tests of the conformance tester.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
