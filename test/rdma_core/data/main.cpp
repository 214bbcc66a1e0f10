// SPDX-License-Identifier: Apache-2.0
// The refusals that tests ask for need not be seen.
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("IWARP_LOG", "off", 0);
  doctest::Context context(argc, argv);
  return context.run();
}
