// SPDX-License-Identifier: Apache-2.0
// The doctest runner of the startup tests; they are in the files beside it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
