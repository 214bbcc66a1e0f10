// SPDX-License-Identifier: Apache-2.0
// A tap receives octets without packet headers. This code writes the headers that a capture needs
// before these octets: Ethernet II and IP (RFC 791, RFC 8200).
#pragma once

#include <cstdint>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/trace/ip_address.hpp"

namespace iwarp::trace::synthetic {

inline constexpr std::uint8_t kTcp = 6, kUdp = 17;

struct Addresses {
  IpAddress from;  ///< must be of the same family as `to`
  IpAddress to;
  bool from_near = true;  ///< the tapped end sends the packet
};

/// Writes Ethernet and IP headers into `packet`, and makes room for `size` octets after the
/// headers. The caller writes these octets to the returned Writer.
bytes::Writer begin_packet(std::vector<std::byte>& packet, const Addresses& addresses,
                           std::uint8_t protocol, std::size_t size, std::uint16_t id);
/// Returns the checksum of a TCP or UDP segment, pseudo header included. The checksum field in
/// `segment` must still be 0.
std::uint16_t checksum(const Addresses& addresses, std::uint8_t protocol, bytes::View segment);

}  // namespace iwarp::trace::synthetic
