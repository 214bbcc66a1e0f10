// SPDX-License-Identifier: Apache-2.0
// Frames from outside this project: worked by hand or taken from the wire of another stack.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
