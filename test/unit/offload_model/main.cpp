// SPDX-License-Identifier: Apache-2.0
// The ledger's equations, data files and statistics.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
