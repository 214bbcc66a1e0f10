// SPDX-License-Identifier: Apache-2.0
// Arithmetic modulo the CRC32c polynomial, at compile time: every constant and table of the kernels
// is computed from kPolynomial, so that none is written by hand. Representation ("reflected"): bit
// 31 of a residue is the coefficient of x^0, bit 0 that of x^31.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace iwarp::crc32c {

inline constexpr std::uint32_t kPolynomial = 0x82F63B78;

/// Returns a(x) * x mod P(x).
constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0);
}

/// Returns a(x) * b(x) mod P(x).
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((b & bit) != 0) product ^= a;
    a = times_x(a);
  }
  return product;
}

/// Returns x^n mod P(x), by repeated squaring.
constexpr std::uint32_t x_to_the(std::size_t n) {
  std::uint32_t result = 0x80000000;
  std::uint32_t square = 0x40000000;
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}
static_assert(x_to_the(32) == kPolynomial);

/// Slicing tables: tables[k][b] is the CRC register after octet `b` and then k zero octets.
using SlicingTables = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr SlicingTables make_slicing_tables() {
  SlicingTables tables{};
  for (std::uint32_t octet = 0; octet < 256; ++octet) {
    std::uint32_t crc = octet;
    for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
    tables[0][octet] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t octet = 0; octet < 256; ++octet) {
      const std::uint32_t before = tables[k - 1][octet];
      tables[k][octet] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

}  // namespace iwarp::crc32c
