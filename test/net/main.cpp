// SPDX-License-Identifier: Apache-2.0
// The test binary of the driver. Writing to a closed socket must not need this, so SIGPIPE stays as
// it is: its default action would end the tests.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <ostream>
