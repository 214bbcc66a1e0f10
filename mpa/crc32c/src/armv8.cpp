// SPDX-License-Identifier: Apache-2.0
// The CRC32c kernel for AArch64 with the CRC32 extension: one chain of CRC32CX instructions.
// Function attributes enable the instructions, so this file can be linked on any AArch64;
// supported() asks the operating system whether the instructions exist.
#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>

#include <cstring>

#include "kernels.hpp"

#if defined(__clang__)
#define IWARP_CRC32C_ARM __attribute__((target("crc")))
#else
#define IWARP_CRC32C_ARM __attribute__((target("+crc")))
#endif

namespace iwarp::crc32c {
namespace {

template <bool kCopy, typename Word>
inline Word take_word([[maybe_unused]] std::byte* to, const std::byte* from, std::size_t offset) {
  Word word;
  std::memcpy(&word, from + offset, sizeof(Word));
  if constexpr (kCopy) std::memcpy(to + offset, &word, sizeof(Word));
  return word;
}

template <bool kCopy>
IWARP_CRC32C_ARM inline std::uint32_t run(std::uint32_t crc, std::byte* to, bytes::View from) {
  std::uint32_t state = ~crc;
  const std::byte* at = from.data();
  std::size_t i = 0;
  for (; i + 8 <= from.size(); i += 8) {
    state = __crc32cd(state, take_word<kCopy, std::uint64_t>(to, at, i));
  }
  for (; i < from.size(); ++i) {
    state = __crc32cb(state, take_word<kCopy, std::uint8_t>(to, at, i));
  }
  return ~state;
}

IWARP_CRC32C_ARM std::uint32_t extend_armv8(std::uint32_t crc, bytes::View octets) {
  return run<false>(crc, nullptr, octets);
}

IWARP_CRC32C_ARM std::uint32_t copy_extend_armv8(std::uint32_t crc, std::byte* to,
                                                 bytes::View from) {
  return run<true>(crc, to, from);
}

bool supported() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

}  // namespace

const Kernel kArmv8Kernel{"armv8", supported, extend_armv8, copy_extend_armv8};

}  // namespace iwarp::crc32c
#endif
