// SPDX-License-Identifier: Apache-2.0
// Turns off the messages about the refusals that the tests cause on purpose.
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("IWARP_LOG", "off", 0);
  doctest::Context context(argc, argv);
  return context.run();
}
