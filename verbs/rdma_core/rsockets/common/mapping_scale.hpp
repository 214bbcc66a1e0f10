// SPDX-License-Identifier: Apache-2.0
// Encodes, in one octet of the rsockets greeting, the number of mappings that a peer may make. A
// number up to 128 is stored unchanged. A larger number n is stored as 128 + n / 256, but at most
// as 255.
#pragma once

#include <algorithm>
#include <cstdint>

namespace iwarp::rdma_core::rsockets {

inline constexpr std::uint32_t kExactMappings = 128;

constexpr std::uint8_t scale_of(std::uint32_t mappings) {
  if (mappings <= kExactMappings) return static_cast<std::uint8_t>(mappings);
  return static_cast<std::uint8_t>(kExactMappings | std::min(mappings >> 8, kExactMappings - 1));
}

constexpr std::uint32_t mappings_of(std::uint8_t scale) {
  return scale <= kExactMappings ? scale : (scale & (kExactMappings - 1)) << 8;
}

/// Returns the number of mappings that the peer gets when it decodes scale_of(wanted).
constexpr std::uint32_t rounded_mappings(std::uint32_t wanted) {
  return mappings_of(scale_of(wanted));
}

}  // namespace iwarp::rdma_core::rsockets
