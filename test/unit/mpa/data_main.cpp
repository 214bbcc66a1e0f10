// SPDX-License-Identifier: Apache-2.0
// Entry of the tests of the MPA data path: FPDU sizes, Framer, Deframer. The cases are next door.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
