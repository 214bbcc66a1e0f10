// SPDX-License-Identifier: Apache-2.0
// Parses link layers, IP, TCP and UDP. Checks each length against the number of captured octets.
#include "frames/connections/packet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::apps::frames {
namespace {

using bytes::Reader;
using bytes::View;

constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86DD, kVlan = 0x8100, kServiceVlan = 0x88A8,
                        kOldServiceVlan = 0x9100;
constexpr std::uint8_t kTcp = 6, kUdp = 17;
constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kAck = 0x10;

struct LinkRow {
  int type;
  std::size_t size;         ///< size of the link header
  std::size_t protocol_at;  ///< offset of the EtherType in the link header
};
/// Value of protocol_at for a link header without an EtherType. skip_link() then reads the IP
/// version from the IP header.
constexpr std::size_t kNoProtocol = 99;
constexpr std::array kLinks{
    LinkRow{kLinkEthernet, 14, 12},        LinkRow{kLinkCooked, 16, 14},
    LinkRow{kLinkCooked2, 20, 0},          LinkRow{kLinkNull, 4, kNoProtocol},
    LinkRow{kLinkLoop, 4, kNoProtocol},    LinkRow{kLinkRaw, 0, kNoProtocol},
    LinkRow{kLinkRawFile, 0, kNoProtocol}, LinkRow{kLinkIpv4, 0, kNoProtocol},
    LinkRow{kLinkIpv6, 0, kNoProtocol},
};

const LinkRow* find_link(int type) {
  const auto row = std::ranges::find(kLinks, type, &LinkRow::type);
  return row == kLinks.end() ? nullptr : &*row;
}

bool is_vlan(std::uint16_t type) {
  return type == kVlan || type == kServiceVlan || type == kOldServiceVlan;
}

/// The part of a packet that has not been parsed yet. It has the captured octets, and the size that
/// this part had on the wire.
struct Rest {
  View octets;
  std::size_t wire = 0;
  void skip(std::size_t n) {
    octets = octets.subspan(std::min(n, octets.size()));
    wire -= std::min(n, wire);
  }
  void cut(std::size_t n) {
    octets = octets.first(std::min(n, octets.size()));
    wire = std::min(n, wire);
  }
};

/// Skips the link header. Returns the version of IP that follows, or 0 if another protocol follows.
unsigned skip_link(const LinkRow& link, Rest& rest) {
  if (rest.octets.size() < link.size) return 0;
  std::uint16_t type = 0;
  if (link.protocol_at != kNoProtocol) {
    type = bytes::load_be<std::uint16_t>(rest.octets.data() + link.protocol_at);
  }
  rest.skip(link.size);
  while (is_vlan(type) && rest.octets.size() >= 4) {
    type = bytes::load_be<std::uint16_t>(rest.octets.data() + 2);
    rest.skip(4);
  }
  if (rest.octets.empty()) return 0;
  const unsigned version = std::to_integer<unsigned>(rest.octets[0]) >> 4;
  if (link.protocol_at == kNoProtocol) return version == 4 || version == 6 ? version : 0;
  if (type == kIpv4) return 4;
  return type == kIpv6 ? 6 : 0;
}

IpAddress address(View octets, bool v6) {
  IpAddress out{.octets = {}, .v6 = v6};
  std::ranges::copy(octets, out.octets.begin());
  return out;
}

struct Addresses {
  IpAddress source;
  IpAddress destination;
};

// Parses the IPv4 header. Returns kTcp if the packet's protocol is `wanted`, even if `wanted` is
// UDP.
PacketKind parse_ipv4(Rest& rest, std::uint8_t wanted, Addresses& out) {
  constexpr std::size_t kHeader = 20;
  if (rest.octets.size() < kHeader) return PacketKind::kCut;
  Reader in(rest.octets);
  const auto first = in.u8();
  in.u8();
  const std::size_t total = in.u16();
  in.u16();
  const auto fragment = in.u16();
  in.u8();
  const auto protocol = in.u8();
  const std::size_t header = std::size_t{first & 0x0FU} * 4;
  // A total length of 0 is valid: with TSO the host captures one large packet, which the adapter
  // segments later.
  if (first >> 4 != 4 || header < kHeader || (total != 0 && total < header)) {
    return PacketKind::kMalformed;
  }
  if (protocol != wanted) return PacketKind::kOther;
  if ((fragment & 0x3FFF) != 0) return PacketKind::kFragment;
  out.source = address(rest.octets.subspan(12, 4), false);
  out.destination = address(rest.octets.subspan(16, 4), false);
  if (total != 0) rest.cut(total);  // octets beyond the total length are padding of the link layer
  rest.skip(header);
  return PacketKind::kTcp;
}

PacketKind parse_ipv6(Rest& rest, std::uint8_t wanted, Addresses& out) {
  constexpr std::size_t kHeader = 40;
  constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kDestination = 60;
  if (rest.octets.size() < kHeader) return PacketKind::kCut;
  Reader in(rest.octets);
  const auto first = in.u32();
  const std::size_t length = in.u16();
  auto next = in.u8();
  if (first >> 28 != 6) return PacketKind::kMalformed;
  out.source = address(rest.octets.subspan(8, 16), true);
  out.destination = address(rest.octets.subspan(24, 16), true);
  rest.skip(kHeader);
  if (length != 0) rest.cut(length);
  while (next == kHopByHop || next == kRouting || next == kDestination) {
    if (rest.octets.size() < 8) return PacketKind::kCut;
    next = std::to_integer<std::uint8_t>(rest.octets[0]);
    rest.skip((std::to_integer<std::size_t>(rest.octets[1]) + 1) * 8);
  }
  if (next == kFragment) return PacketKind::kFragment;
  return next == wanted ? PacketKind::kTcp : PacketKind::kOther;
}

/// Parses and removes the link and IP headers, so that `rest` begins with the TCP or UDP header.
PacketKind parse_ip(int link_type, Rest& rest, std::uint8_t wanted, Addresses& out) {
  const auto* link = find_link(link_type);
  const unsigned version = link != nullptr ? skip_link(*link, rest) : 0;
  if (version == 0) return PacketKind::kOther;
  return version == 4 ? parse_ipv4(rest, wanted, out) : parse_ipv6(rest, wanted, out);
}

PacketKind parse_tcp(Rest& rest, TcpSegment& out) {
  constexpr std::size_t kHeader = 20;
  if (rest.wire < kHeader) return PacketKind::kMalformed;
  if (rest.octets.size() < kHeader) return PacketKind::kCut;
  Reader in(rest.octets);
  out.source.port = in.u16();
  out.destination.port = in.u16();
  out.seq = in.u32();
  out.ack = in.u32();
  const std::size_t header = std::size_t{in.u8()} / 16 * 4;
  const auto flags = in.u8();
  if (header < kHeader || header > rest.wire) return PacketKind::kMalformed;
  out.fin = (flags & kFin) != 0;
  out.syn = (flags & kSyn) != 0;
  out.rst = (flags & kRst) != 0;
  out.ack_valid = (flags & kAck) != 0;
  rest.skip(header);
  out.payload = rest.octets;
  out.size = rest.wire;
  return PacketKind::kTcp;
}

}  // namespace

bool is_known_link(int link_type) { return find_link(link_type) != nullptr; }

std::string to_string(const TcpEnd& end) {
  const auto host = to_string(end.address);
  return end.address.v6 ? fmt::format("[{}]:{}", host, end.port)
                        : fmt::format("{}:{}", host, end.port);
}

PacketKind parse_packet(int link_type, View packet, std::size_t wire_size, TcpSegment& out) {
  Rest rest{packet, std::max(wire_size, packet.size())};
  Addresses ends;
  const auto kind = parse_ip(link_type, rest, kTcp, ends);
  if (kind != PacketKind::kTcp) return kind;
  out.source.address = ends.source;
  out.destination.address = ends.destination;
  return parse_tcp(rest, out);
}

bool parse_udp(int link_type, View packet, std::size_t wire_size, UdpDatagram& out) {
  constexpr std::size_t kHeader = 8;
  Rest rest{packet, std::max(wire_size, packet.size())};
  Addresses ends;
  if (parse_ip(link_type, rest, kUdp, ends) != PacketKind::kTcp) return false;
  if (rest.octets.size() < kHeader) return false;
  Reader in(rest.octets);
  out.source = {.address = ends.source, .port = in.u16()};
  out.destination = {.address = ends.destination, .port = in.u16()};
  const std::size_t size = in.u16();
  const bool is_whole = size >= kHeader && size <= rest.octets.size();
  out.payload = is_whole ? rest.octets.subspan(kHeader, size - kHeader) : View();
  return true;
}

}  // namespace iwarp::apps::frames
