// SPDX-License-Identifier: Apache-2.0
// Code that the x86-64 kernels of CRC32c share: loads that may also store (the fused copy), and the
// plain chain of CRC32 instructions, for ranges that are too short for the wider kernels. `state`
// is the CRC register, which is the complement of a CRC value. Include only where __x86_64__ is
// defined.
#pragma once

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Declares a helper function, which has to be inlined. Its caller needs the same target attribute.
#define IWARP_CRC32C_SSE __attribute__((target("sse4.2,pclmul"))) inline

namespace iwarp::crc32c {

/// Returns the word at from[offset]; when copying, also stores it at to[offset].
template <bool kCopy, typename Word = std::uint64_t>
inline Word take_word([[maybe_unused]] std::byte* to, const std::byte* from, std::size_t offset) {
  Word word;
  std::memcpy(&word, from + offset, sizeof(Word));
  if constexpr (kCopy) std::memcpy(to + offset, &word, sizeof(Word));
  return word;
}

/// Continues `state` over the kOctets octets at offset `i`, and advances `i` by kOctets.
template <bool kCopy, std::size_t kOctets>
IWARP_CRC32C_SSE std::uint64_t words(std::uint64_t state, std::byte* to, const std::byte* at,
                                     std::size_t& i) {
  if constexpr (kOctets == 8) {
    state = _mm_crc32_u64(state, take_word<kCopy>(to, at, i));
    i += 8;
  } else {
    state = words<kCopy, kOctets / 2>(state, to, at, i);
    state = words<kCopy, kOctets / 2>(state, to, at, i);
  }
  return state;
}

/// Continues `state` over `left` octets, in one chain.
template <bool kCopy>
IWARP_CRC32C_SSE std::uint32_t tail(std::uint64_t state, std::byte* to, const std::byte* at,
                                    std::size_t left) {
  std::size_t i = 0;
  while (i + 64 <= left) state = words<kCopy, 64>(state, to, at, i);
  if ((left & 32) != 0) state = words<kCopy, 32>(state, to, at, i);
  if ((left & 16) != 0) state = words<kCopy, 16>(state, to, at, i);
  if ((left & 8) != 0) state = words<kCopy, 8>(state, to, at, i);
  auto narrow = static_cast<std::uint32_t>(state);
  if ((left & 4) != 0) {
    narrow = _mm_crc32_u32(narrow, take_word<kCopy, std::uint32_t>(to, at, i));
    i += 4;
  }
  if ((left & 2) != 0) {
    narrow = _mm_crc32_u16(narrow, take_word<kCopy, std::uint16_t>(to, at, i));
    i += 2;
  }
  if ((left & 1) != 0) narrow = _mm_crc32_u8(narrow, take_word<kCopy, std::uint8_t>(to, at, i));
  return narrow;
}

}  // namespace iwarp::crc32c
