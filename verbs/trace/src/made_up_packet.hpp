// SPDX-License-Identifier: Apache-2.0
// The headers that a capture needs around octets that were never seen in a packet: Ethernet II, and
// IP (RFC 791, RFC 8200).
#pragma once

#include <cstdint>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/trace/ip_address.hpp"

namespace iwarp::trace::made_up {

inline constexpr std::uint8_t kTcp = 6, kUdp = 17;

struct Addresses {
  IpAddress from;  ///< both of one family
  IpAddress to;
  bool from_near = true;  ///< the tapped end sends it
};

/// Begins a packet with room for `size` octets after the IP header; the caller writes them to the
/// returned Writer.
bytes::Writer begin_packet(std::vector<std::byte>& packet, const Addresses& addresses,
                           std::uint8_t protocol, std::size_t size, std::uint16_t id);
/// Returns the checksum of a TCP or UDP segment, with the pseudo header; the field itself must
/// still be 0.
std::uint16_t checksum(const Addresses& addresses, std::uint8_t protocol, bytes::View segment);

}  // namespace iwarp::trace::made_up
