// SPDX-License-Identifier: Apache-2.0
// The CRC32c kernel for x86-64 with SSE 4.2 and PCLMULQDQ: three independent chains of CRC32
// instructions run side by side over three equal lanes, because in one chain each instruction waits
// for the previous one. Two carry-less products combine the three results. Function attributes
// enable the instructions, so this file can be linked on any x86-64.
#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>

#include <array>
#include <cstring>

#include "kernels.hpp"
#include "polynomial.hpp"
#include "x86_tail.hpp"

namespace iwarp::crc32c {
namespace {

constexpr std::size_t kMaxLaneWords = 128;  // 64-bit words per lane: 3 KiB in three lanes
// In shorter lanes, the products that join the lanes cost more time than the lanes save.
constexpr std::size_t kMinLaneWords = 8;

/// kShift[w] is the multiplier that moves a residue forward by w words. One CRC32 instruction then
/// reduces the 64-bit product. That instruction also multiplies by x^32, and a reflected product is
/// one power of x too high, so the exponent of each multiplier is 33 lower than 64 w.
constexpr std::array<std::uint32_t, 2 * kMaxLaneWords + 1> make_shifts() {
  std::array<std::uint32_t, 2 * kMaxLaneWords + 1> shifts{};
  shifts[1] = x_to_the(64 - 33);
  for (std::size_t words = 2; words < shifts.size(); ++words) {
    shifts[words] = multiply(shifts[words - 1], x_to_the(64));
  }
  return shifts;
}
constexpr auto kShift = make_shifts();

IWARP_CRC32C_SSE std::uint64_t product(std::uint64_t residue, std::uint32_t shift) {
  const __m128i a = _mm_cvtsi64_si128(static_cast<long long>(residue));
  const __m128i b = _mm_cvtsi32_si128(static_cast<int>(shift));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0)));
}

/// Processes one round: three lanes of `words` 64-bit words each, at `at`.
template <bool kCopy>
IWARP_CRC32C_SSE std::uint64_t three_lanes(std::uint64_t state, std::byte* to, const std::byte* at,
                                           std::size_t words) {
  const std::size_t lane = words * 8;
  std::uint64_t first = state;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  for (std::size_t i = 0; i + 8 < lane; i += 8) {
    first = _mm_crc32_u64(first, take_word<kCopy>(to, at, i));
    second = _mm_crc32_u64(second, take_word<kCopy>(to, at, lane + i));
    third = _mm_crc32_u64(third, take_word<kCopy>(to, at, 2 * lane + i));
  }
  const std::size_t last = lane - 8;
  first = _mm_crc32_u64(first, take_word<kCopy>(to, at, last));
  second = _mm_crc32_u64(second, take_word<kCopy>(to, at, lane + last));
  const std::uint64_t end = take_word<kCopy>(to, at, 2 * lane + last);
  return _mm_crc32_u64(third,
                       end ^ product(first, kShift[2 * words]) ^ product(second, kShift[words]));
}

constexpr std::size_t kMinLanes = 3 * 8 * kMinLaneWords;

template <bool kCopy>
__attribute__((target("sse4.2,pclmul"), noinline)) std::uint32_t in_lanes(std::uint64_t state,
                                                                          std::byte* to,
                                                                          const std::byte* at,
                                                                          std::size_t left) {
  while (left >= kMinLanes) {
    const std::size_t fit = left / 24;
    const std::size_t words = fit < kMaxLaneWords ? fit : kMaxLaneWords;
    state = three_lanes<kCopy>(state, to, at, words);
    at += 24 * words;
    left -= 24 * words;
    if constexpr (kCopy) to += 24 * words;
  }
  return tail<kCopy>(state, to, at, left);
}

// The code for lanes is in a separate function. So if the range is short, run() does not save the
// registers that only the lanes use.
template <bool kCopy>
IWARP_CRC32C_SSE std::uint32_t run(std::uint32_t crc, std::byte* to, bytes::View from) {
  const std::uint32_t state = ~crc;
  if (from.size() >= kMinLanes) return ~in_lanes<kCopy>(state, to, from.data(), from.size());
  return ~tail<kCopy>(state, to, from.data(), from.size());
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t extend_sse42(std::uint32_t crc,
                                                                    bytes::View octets) {
  return run<false>(crc, nullptr, octets);
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t copy_extend_sse42(std::uint32_t crc,
                                                                         std::byte* to,
                                                                         bytes::View from) {
  return run<true>(crc, to, from);
}

bool supported() {
  return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
}

}  // namespace

const Kernel kSse42Kernel{"sse4.2+pclmul", supported, extend_sse42, copy_extend_sse42};

}  // namespace iwarp::crc32c
#endif
