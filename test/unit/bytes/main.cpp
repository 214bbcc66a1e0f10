// SPDX-License-Identifier: Apache-2.0
// The doctest runner of this binary; the tests are in the files beside it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
