// SPDX-License-Identifier: Apache-2.0
// The smallest program that needs all of an installed package: its headers, a layer, and the link
// line.
#include <array>
#include <cstdlib>
#include <iwarp/crc32c/crc32c.hpp>

int main() {
  constexpr std::array<char, 9> kDigits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  const auto crc = iwarp::crc32c::compute(std::as_bytes(std::span{kDigits}));
  return crc == 0xE3069283 ? EXIT_SUCCESS : EXIT_FAILURE;
}
