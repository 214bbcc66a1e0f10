// SPDX-License-Identifier: Apache-2.0
// One captured packet down to TCP or UDP: link layer, IPv4 or IPv6, their header. Checksums are not
// looked at: captures of the sender's side have them unfinished. Fragments are not put together.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "iwarp/bytes/view.hpp"
#include "iwarp/trace/ip_address.hpp"

namespace iwarp::apps::frames {

using trace::IpAddress;

/// Numbers of https://www.tcpdump.org/linktypes.html, as pcap_datalink() gives them.
inline constexpr int kLinkNull = 0, kLinkEthernet = 1, kLinkRaw = 12, kLinkRawFile = 101,
                     kLinkLoop = 108, kLinkCooked = 113, kLinkIpv4 = 228, kLinkIpv6 = 229,
                     kLinkCooked2 = 276;
bool is_known_link(int link_type);

struct TcpEnd {
  IpAddress address;
  std::uint16_t port = 0;
  auto operator<=>(const TcpEnd&) const = default;
};
/// "192.0.2.1:80", "[2001:db8::1]:80".
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
  bytes::View payload;   ///< as far as it was captured
  std::size_t size = 0;  ///< of the payload on the wire
};

enum class PacketKind : std::uint8_t {
  kTcp,
  kOther,      ///< neither IP nor TCP
  kFragment,   ///< a part of an IP packet
  kCut,        ///< the capture has not even the TCP header
  kMalformed,  ///< lengths that contradict each other
};

/// `wire_size`: what the packet had before the capture cut it. `out` is set for kTcp; views into it
/// are views into `packet`.
PacketKind parse_packet(int link_type, bytes::View packet, std::size_t wire_size, TcpSegment& out);

struct UdpDatagram {
  TcpEnd source;
  TcpEnd destination;
  bytes::View payload;  ///< all of it
};
/// False: the packet has no UDP, or not all of its payload. As parse_packet() else.
bool parse_udp(int link_type, bytes::View packet, std::size_t wire_size, UdpDatagram& out);

}  // namespace iwarp::apps::frames
