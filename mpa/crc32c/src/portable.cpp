// SPDX-License-Identifier: Apache-2.0
// The CRC32c kernel for every processor: each step looks up eight octets in eight tables ("slicing
// by 8"). This kernel depends neither on the host's octet order nor on alignment.
#include <cstring>

#include "kernels.hpp"
#include "polynomial.hpp"

namespace iwarp::crc32c {
namespace {

constexpr SlicingTables kTables = make_slicing_tables();

/// Returns the little-endian 32-bit integer at `from`.
std::uint32_t load_le32(const std::byte* from) {
  return std::to_integer<std::uint32_t>(from[0]) | std::to_integer<std::uint32_t>(from[1]) << 8 |
         std::to_integer<std::uint32_t>(from[2]) << 16 |
         std::to_integer<std::uint32_t>(from[3]) << 24;
}

std::uint32_t step8(std::uint32_t state, const std::byte* at) {
  const std::uint32_t lo = load_le32(at) ^ state;
  const std::uint32_t hi = load_le32(at + 4);
  return kTables[7][lo & 0xFF] ^ kTables[6][lo >> 8 & 0xFF] ^ kTables[5][lo >> 16 & 0xFF] ^
         kTables[4][lo >> 24] ^ kTables[3][hi & 0xFF] ^ kTables[2][hi >> 8 & 0xFF] ^
         kTables[1][hi >> 16 & 0xFF] ^ kTables[0][hi >> 24];
}

std::uint32_t step1(std::uint32_t state, std::byte octet) {
  return (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(octet)) & 0xFF];
}

std::uint32_t extend_portable(std::uint32_t crc, bytes::View octets) {
  std::uint32_t state = ~crc;
  const std::byte* at = octets.data();
  std::size_t left = octets.size();
  for (; left >= 8; left -= 8, at += 8) state = step8(state, at);
  for (; left > 0; --left, ++at) state = step1(state, *at);
  return ~state;
}

std::uint32_t copy_extend_portable(std::uint32_t crc, std::byte* to, bytes::View from) {
  // Copies slices that fit into the first-level cache, and computes the CRC over each copy while
  // the copy is in the cache.
  constexpr std::size_t kSlice = 4096;
  while (!from.empty()) {
    const std::size_t n = from.size() < kSlice ? from.size() : kSlice;
    std::memcpy(to, from.data(), n);
    crc = extend_portable(crc, {to, n});
    to += n;
    from = from.subspan(n);
  }
  return crc;
}

bool supported() { return true; }

}  // namespace

const Kernel kPortableKernel{"portable", supported, extend_portable, copy_extend_portable};

}  // namespace iwarp::crc32c
