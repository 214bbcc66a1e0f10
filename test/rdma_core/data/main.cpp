// SPDX-License-Identifier: Apache-2.0
// Suppresses the library's messages about refusals, which the tests cause on purpose.
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("IWARP_LOG", "off", 0);
  doctest::Context context(argc, argv);
  return context.run();
}
