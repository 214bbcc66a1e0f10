// SPDX-License-Identifier: Apache-2.0
// The CRC32c kernel for x86-64 with AVX-512 and VPCLMULQDQ: each step folds 256 octets into four
// registers of four 128-bit lanes. Folding replaces a lane by a shorter polynomial with the same
// residue: for a lane that is D bits before its partner, high * x^(64+D) + low * x^D. Short ranges
// are left to the CRC32 instruction chain.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels.hpp"
#include "polynomial.hpp"
#include "x86_tail.hpp"

#define IWARP_CRC32C_AVX512 \
  __attribute__((target("avx512f,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.2")))

namespace iwarp::crc32c {
namespace {

constexpr std::size_t kStep = 256;
// Below this size, a chain of CRC32 instructions is as fast as folding.
constexpr std::size_t kMinFold = 128;

/// Multipliers that move a 128-bit lane forward by a number of bits. The first 8 octets of a lane,
/// which are its low 64 bits, hold the coefficients of the high powers of x. A reflected 64 x 64
/// product is one power of x too high, so fold_by() subtracts 1 from each exponent.
struct Fold {
  std::uint64_t high;
  std::uint64_t low;
};
constexpr Fold fold_by(std::size_t bits) {
  return {static_cast<std::uint64_t>(x_to_the(bits + 64 - 1)) << 32,
          static_cast<std::uint64_t>(x_to_the(bits - 1)) << 32};
}
constexpr Fold kBy2048 = fold_by(2048);
constexpr Fold kBy512 = fold_by(512);
constexpr Fold kBy384 = fold_by(384);
constexpr Fold kBy256 = fold_by(256);
constexpr Fold kBy128 = fold_by(128);

IWARP_CRC32C_AVX512 inline __m512i in_every_lane(const Fold& f) {
  const auto high = static_cast<long long>(f.high);
  const auto low = static_cast<long long>(f.low);
  return _mm512_set4_epi64(low, high, low, high);
}

/// Moves `lanes` forward by the distance that the multipliers `by` stand for, and returns the
/// exclusive or of the result and `next`.
IWARP_CRC32C_AVX512 inline __m512i fold(__m512i lanes, __m512i by, __m512i next) {
  const __m512i high = _mm512_clmulepi64_epi128(lanes, by, 0x00);
  const __m512i low = _mm512_clmulepi64_epi128(lanes, by, 0x11);
  return _mm512_ternarylogic_epi64(high, low, next, 0x96);  // three-way exclusive or
}

template <bool kCopy>
IWARP_CRC32C_AVX512 inline __m512i take(std::byte* to, const std::byte* at, std::size_t offset) {
  const __m512i octets = _mm512_loadu_si512(at + offset);
  if constexpr (kCopy) _mm512_storeu_si512(to + offset, octets);
  return octets;
}

/// Starts with an all-zero CRC register, and returns the register after the 64 octets that `lanes`
/// represent.
IWARP_CRC32C_AVX512 inline std::uint64_t reduce(__m512i lanes) {
  const auto s = [](std::uint64_t v) { return static_cast<long long>(v); };
  // Folds lanes 0, 1 and 2 into the position of lane 3. Lane 3 itself is not folded: its
  // multipliers are zero, and the last argument adds it unchanged.
  const __m512i by = _mm512_set_epi64(0, 0, s(kBy128.low), s(kBy128.high), s(kBy256.low),
                                      s(kBy256.high), s(kBy384.low), s(kBy384.high));
  const __m512i moved = fold(lanes, by, _mm512_maskz_mov_epi64(0xC0, lanes));
  // Use the zero-masked intrinsics, because the plain ones make GCC 12 warn about its own header.
  const __m256i half = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xF, moved, 0),
                                        _mm512_maskz_extracti64x4_epi64(0xF, moved, 1));
  const __m128i lane =
      _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const auto first = static_cast<std::uint64_t>(_mm_cvtsi128_si64(lane));
  const auto second = static_cast<std::uint64_t>(_mm_extract_epi64(lane, 1));
  return _mm_crc32_u64(_mm_crc32_u64(0, first), second);
}

/// Folds a multiple of 64 octets, at least 64. Sets `done` to the number of octets, out of `left`,
/// that it has processed.
template <bool kCopy>
IWARP_CRC32C_AVX512 inline std::uint64_t fold_all(std::uint64_t state, std::byte* to,
                                                  const std::byte* at, std::size_t left,
                                                  std::size_t& done) {
  const __m512i by512 = in_every_lane(kBy512);
  __m512i a =
      _mm512_xor_si512(take<kCopy>(to, at, 0),
                       _mm512_zextsi128_si512(_mm_cvtsi64_si128(static_cast<long long>(state))));
  std::size_t i = 64;
  if (left >= kStep) {
    const __m512i by2048 = in_every_lane(kBy2048);
    __m512i b = take<kCopy>(to, at, 64);
    __m512i c = take<kCopy>(to, at, 128);
    __m512i d = take<kCopy>(to, at, 192);
    for (i = kStep; i + kStep <= left; i += kStep) {
      a = fold(a, by2048, take<kCopy>(to, at, i));
      b = fold(b, by2048, take<kCopy>(to, at, i + 64));
      c = fold(c, by2048, take<kCopy>(to, at, i + 128));
      d = fold(d, by2048, take<kCopy>(to, at, i + 192));
    }
    a = fold(fold(fold(a, by512, b), by512, c), by512, d);
  }
  for (; i + 64 <= left; i += 64) a = fold(a, by512, take<kCopy>(to, at, i));
  done = i;
  return reduce(a);
}

template <bool kCopy>
IWARP_CRC32C_AVX512 inline std::uint32_t run(std::uint32_t crc, std::byte* to, bytes::View from) {
  std::uint64_t state = static_cast<std::uint32_t>(~crc);
  std::size_t done = 0;
  if (from.size() >= kMinFold) {
    state = fold_all<kCopy>(state, to, from.data(), from.size(), done);
  }
  return ~tail<kCopy>(state, kCopy ? to + done : nullptr, from.data() + done, from.size() - done);
}

IWARP_CRC32C_AVX512 std::uint32_t extend_avx512(std::uint32_t crc, bytes::View octets) {
  return run<false>(crc, nullptr, octets);
}

IWARP_CRC32C_AVX512 std::uint32_t copy_extend_avx512(std::uint32_t crc, std::byte* to,
                                                     bytes::View from) {
  return run<true>(crc, to, from);
}

bool supported() {
  // __builtin_cpu_supports also checks that the operating system saves the wide registers.
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0 &&
         __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.2") != 0;
}

}  // namespace

const Kernel kAvx512Kernel{"avx512+vpclmul", supported, extend_avx512, copy_extend_avx512};

}  // namespace iwarp::crc32c
#endif
