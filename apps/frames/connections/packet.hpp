// SPDX-License-Identifier: Apache-2.0
// Parses one captured packet: the link layer, IPv4 or IPv6, and the header of TCP or UDP. It does
// not check checksums, because a capture on the sending host has the packets before the adapter
// fills in the checksums. It does not reassemble IP fragments.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "iwarp/bytes/view.hpp"
#include "iwarp/trace/ip_address.hpp"

namespace iwarp::apps::frames {

using trace::IpAddress;

/// Link types as pcap_datalink() returns them. https://www.tcpdump.org/linktypes.html defines the
/// numbers.
inline constexpr int kLinkNull = 0, kLinkEthernet = 1, kLinkRaw = 12, kLinkRawFile = 101,
                     kLinkLoop = 108, kLinkCooked = 113, kLinkIpv4 = 228, kLinkIpv6 = 229,
                     kLinkCooked2 = 276;
bool is_known_link(int link_type);

struct TcpEnd {
  IpAddress address;
  std::uint16_t port = 0;
  auto operator<=>(const TcpEnd&) const = default;
};
/// Returns the address and the port as text: "192.0.2.1:80" or "[2001:db8::1]:80".
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
  bytes::View payload;   ///< the part of the payload that was captured
  std::size_t size = 0;  ///< size of the payload on the wire
};

enum class PacketKind : std::uint8_t {
  kTcp,
  kOther,      ///< a protocol other than IP, or IP with a protocol other than TCP
  kFragment,   ///< a fragment of an IP packet
  kCut,        ///< captured only in part: the TCP header is incomplete
  kMalformed,  ///< contains lengths that contradict each other
};

/// Parses a packet. `wire_size` is the packet's size on the wire; the capture may have truncated
/// it. If the result is kTcp, sets `out`, whose payload then points into `packet`.
PacketKind parse_packet(int link_type, bytes::View packet, std::size_t wire_size, TcpSegment& out);

struct UdpDatagram {
  TcpEnd source;
  TcpEnd destination;
  bytes::View payload;  ///< the complete payload; empty if the capture lacks a part of it
};
/// Parses a packet as parse_packet() does, but for UDP. Returns false if the packet is not UDP or
/// if the capture lacks a part of its header.
bool parse_udp(int link_type, bytes::View packet, std::size_t wire_size, UdpDatagram& out);

}  // namespace iwarp::apps::frames
