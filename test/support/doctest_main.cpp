// SPDX-License-Identifier: Apache-2.0
// Defines main() for the test programs that have none.
#include <doctest/doctest.h>

int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
