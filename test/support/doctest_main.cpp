// SPDX-License-Identifier: Apache-2.0
// Defines main() for test programs that do not define their own.
#include <doctest/doctest.h>

int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
