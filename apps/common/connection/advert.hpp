// SPDX-License-Identifier: Apache-2.0
// The advert {TO, STag, length} tells the peer where a buffer is. A Send carries it as 16 octets,
// in the format of rdma-core's rping.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::apps {

//  0                   1                   2                   3
// |                          TO (64)                              |
// |                                                               |
// |                          STag (32)                            |
// |                          length (32)                          |
struct Advert {
  std::uint64_t to = 0;
  verbs::Stag stag;
  std::uint32_t length = 0;
  bool operator==(const Advert&) const = default;
};

inline constexpr std::size_t kAdvertSize = 16;
using AdvertOctets = std::array<std::byte, kAdvertSize>;

AdvertOctets encode(const Advert& advert);
/// Decodes an advert. Returns nullopt if the size of `octets` is not 16.
std::optional<Advert> decode_advert(bytes::View octets);

}  // namespace iwarp::apps
