// SPDX-License-Identifier: Apache-2.0
// The number of mappings that a peer may make, encoded in the one octet that the rsockets greeting
// has for it: up to 128 as itself, a larger number as 128 plus a 256th of it.
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

/// Returns the number that the peer decodes.
constexpr std::uint32_t rounded_mappings(std::uint32_t wanted) {
  return mappings_of(scale_of(wanted));
}

}  // namespace iwarp::rdma_core::rsockets
