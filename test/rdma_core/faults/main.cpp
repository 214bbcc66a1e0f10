// SPDX-License-Identifier: Apache-2.0
// Sets the variables before the library is used, because it reads them once per process.
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
