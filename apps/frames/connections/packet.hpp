// SPDX-License-Identifier: Apache-2.0
// Parses one captured packet down to TCP or UDP: link layer, IPv4 or IPv6, and the header. Ignores
// checksums, which are unfinished in captures of the sender's side. Does not reassemble fragments.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "iwarp/bytes/view.hpp"
#include "iwarp/trace/ip_address.hpp"

namespace iwarp::apps::frames {

using trace::IpAddress;

/// Link types as pcap_datalink() returns them; the numbers are those of
/// https://www.tcpdump.org/linktypes.html.
inline constexpr int kLinkNull = 0, kLinkEthernet = 1, kLinkRaw = 12, kLinkRawFile = 101,
                     kLinkLoop = 108, kLinkCooked = 113, kLinkIpv4 = 228, kLinkIpv6 = 229,
                     kLinkCooked2 = 276;
bool is_known_link(int link_type);

struct TcpEnd {
  IpAddress address;
  std::uint16_t port = 0;
  auto operator<=>(const TcpEnd&) const = default;
};
/// Returns "192.0.2.1:80" or "[2001:db8::1]:80".
std::string to_string(const TcpEnd& end);

struct TcpSegment {
  TcpEnd source;
  TcpEnd destination;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  bool syn = false;
  bool ack_valid = false;
  bool fin = false;
  bool rst = false;
  bytes::View payload;   ///< the captured part
  std::size_t size = 0;  ///< size of the payload on the wire
};

enum class PacketKind : std::uint8_t {
  kTcp,
  kOther,      ///< neither IP nor TCP
  kFragment,   ///< a part of an IP packet
  kCut,        ///< the capture has not even the TCP header
  kMalformed,  ///< lengths that contradict each other
};

/// `wire_size`: size of the packet before the capture cut it. Sets `out` if it returns kTcp; its
/// views are views into `packet`.
PacketKind parse_packet(int link_type, bytes::View packet, std::size_t wire_size, TcpSegment& out);

struct UdpDatagram {
  TcpEnd source;
  TcpEnd destination;
  bytes::View payload;  ///< complete
};
/// Returns false if the packet has no UDP, or not all of its payload. Otherwise as parse_packet().
bool parse_udp(int link_type, bytes::View packet, std::size_t wire_size, UdpDatagram& out);

}  // namespace iwarp::apps::frames
