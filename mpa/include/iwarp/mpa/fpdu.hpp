// SPDX-License-Identifier: Apache-2.0
// Sizes of FPDUs and the MULPDU formula (RFC 5044 sections 4.1 and 4.5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::mpa {

inline constexpr std::size_t kLengthFieldSize = 2;
inline constexpr std::size_t kCrcSize = 4;
inline constexpr std::size_t kMarkerSize = 4;
inline constexpr std::size_t kMarkerInterval = 512;
inline constexpr std::size_t kMinMulpdu = 128;
inline constexpr std::size_t kMaxMulpdu = 64768;

/// The largest ULPDU that DDP may pass to MPA. The value has a type of its own, so that it cannot
/// be confused with the EMSS or the size of an FPDU.
struct Mulpdu {
  std::size_t octets = kMinMulpdu;
  constexpr bool operator==(const Mulpdu&) const = default;
};

/// Returns the number of PAD octets after a ULPDU of this length. [MPA-14]
constexpr std::size_t pad_size(std::size_t ulpdu_length) {
  return (4 - (kLengthFieldSize + ulpdu_length) % 4) % 4;
}

/// Returns the size, in octets, of an FPDU without markers: length field, ULPDU, PAD and CRC.
constexpr std::size_t fpdu_size(std::size_t ulpdu_length) {
  return kLengthFieldSize + ulpdu_length + pad_size(ulpdu_length) + kCrcSize;
}

/// Reads a CRC from the 4 octets at `field`, least significant octet first. [MPA-35] [MPA-43]
constexpr std::uint32_t load_crc(const std::byte* field) {
  return std::byteswap(bytes::load_be<std::uint32_t>(field));
}
/// Returns the 4 octets of the CRC field for `crc`, least significant octet first.
constexpr std::array<std::byte, kCrcSize> crc_octets(std::uint32_t crc) {
  std::array<std::byte, kCrcSize> field{};
  bytes::store_be(field.data(), std::byteswap(crc));
  return field;
}

/// Markers are at stream positions 0, 512, 1024, and so on. Returns how many of them a sender
/// inserts if it sends `octets` octets (markers not counted) from stream position `position` on. A
/// marker that is due directly after the last octet does not count.
std::size_t markers_within(std::uint64_t position, std::size_t octets);

/// Returns the MULPDU for an effective maximum segment size in octets. If `emss` is 0 (unknown),
/// assumes an Ethernet MTU. The result is always in 128..64768. [MPA-4] [MPA-6] [MPA-47] [MPA-48]
/// [MPA-51] [MPA-53]
Mulpdu mulpdu_for(std::size_t emss, bool markers);

}  // namespace iwarp::mpa
