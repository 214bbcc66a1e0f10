// SPDX-License-Identifier: Apache-2.0
// Runs random sessions of iwarp lab in the native build of the stack, and prints a digest of them.
// Usage: test_lab_digest SEED COUNT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "lab/trial.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::atoll(argv[i])); };
  const auto digest = iwarp::apps::lab::digest_of_trials(number(1), number(2));
  std::printf("%llu\n", static_cast<unsigned long long>(digest));
  return 0;
}
