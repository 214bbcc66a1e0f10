// SPDX-License-Identifier: Apache-2.0
// Unit tests of verbs/trace: decoder, printer, capture files. No sockets.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
