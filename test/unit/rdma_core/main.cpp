// SPDX-License-Identifier: Apache-2.0
// main() of doctest.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
