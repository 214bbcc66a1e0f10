// SPDX-License-Identifier: Apache-2.0
// The library reads the variables once per process, so they are set before it is used.
#include <doctest/doctest.h>

#include <cstdlib>

#include "rules.hpp"

int main(int argc, char** argv) {
  setenv("IWARP_LOG", "off", 0);
  setenv("IWARP_COMPLETIONS", "acked", 1);
  setenv("IWARP_FAULT_SOCKET", faults::socket_path().c_str(), 1);
  doctest::Context context(argc, argv);
  return context.run();
}
