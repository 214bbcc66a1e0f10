// SPDX-License-Identifier: Apache-2.0
// Tests the parser with whole, truncated and malformed packets of every link type.
#include "frames/connections/packet.hpp"

#include <doctest/doctest.h>

#include "made_packets.hpp"
#include "wire_script.hpp"

namespace iwarp::test {
namespace {

using namespace frames;

constexpr int kLinks[] = {frames::kLinkEthernet, frames::kLinkCooked, frames::kLinkCooked2,
                          frames::kLinkNull,     frames::kLinkLoop,   frames::kLinkRaw,
                          frames::kLinkRawFile,  frames::kLinkIpv4,   frames::kLinkIpv6};

TEST_CASE("TCP is found behind every link type, IPv4 and IPv6, with VLAN tags and options") {
  const auto payload = counting(33);
  for (const int link : kLinks) {
    for (const bool v6 : {false, true}) {
      for (const unsigned vlans : {0U, 1U, 2U}) {
        INFO("link ", link, ", v6 ", v6);
        const MadePacket made{.link = link, .v6 = v6, .vlans = vlans, .seq = 77, .options = 12};
        auto packet = made(payload);
        packet.resize(packet.size() + 6);  // The link pads the packet.
        TcpSegment s;
        REQUIRE(parse_packet(link, packet, packet.size(), s) == PacketKind::kTcp);
        CHECK(s.seq == 77);
        CHECK(s.ack_valid);
        CHECK(std::vector(s.payload.begin(), s.payload.end()) == payload);
        CHECK(s.size == payload.size());
        CHECK(to_string(s.source) == (v6 ? "[fd00::1]:4000" : "10.0.0.1:4000"));
        CHECK(to_string(s.destination) == (v6 ? "[fd00::2]:7174" : "10.0.0.2:7174"));
      }
    }
  }
}

TEST_CASE("a snap length truncates the payload but does not change its reported size") {
  const auto packet = MadePacket{}(counting(1000));
  TcpSegment s;
  const auto cut = bytes::View(packet).first(96);
  REQUIRE(parse_packet(frames::kLinkEthernet, cut, packet.size(), s) == PacketKind::kTcp);
  CHECK(s.payload.size() == 96 - 54);
  CHECK(s.size == 1000);
}

TEST_CASE("packets that are not TCP are recognized") {
  TcpSegment s;
  auto packet = MadePacket{}(counting(20));
  const auto kind = [&](int link = frames::kLinkEthernet) {
    return parse_packet(link, packet, packet.size(), s);
  };
  CHECK(kind(147) == PacketKind::kOther);
  CHECK_FALSE(frames::is_known_link(147));
  packet[23] = std::byte{17};
  CHECK(kind() == PacketKind::kOther);
  packet[23] = std::byte{6};
  packet[20] = std::byte{0x20};
  CHECK(kind() == PacketKind::kFragment);
  packet[20] = std::byte{0};
  packet[14] = std::byte{0x43};  // The IPv4 header claims to have only 12 octets.
  CHECK(kind() == PacketKind::kMalformed);
  packet[14] = std::byte{0x45};
  packet[46] = std::byte{0xF0};  // The TCP header claims to have 60 octets.
  CHECK(kind() == PacketKind::kMalformed);
  packet.resize(40);
  CHECK(kind() == PacketKind::kMalformed);
  CHECK(parse_packet(frames::kLinkEthernet, packet, 100, s) == PacketKind::kCut);
  packet[12] = packet[13] = std::byte{0};
  CHECK(kind() == PacketKind::kOther);
}

TEST_CASE("an IPv4 packet of length 0 extends to the end of the capture (segmentation offload)") {
  auto packet = MadePacket{}(counting(20));
  packet[16] = packet[17] = std::byte{0};
  TcpSegment s;
  REQUIRE(parse_packet(frames::kLinkEthernet, packet, packet.size(), s) == PacketKind::kTcp);
  CHECK(s.size == 20);
}

TEST_CASE("IPv6 addresses are written as in RFC 5952") {
  trace::IpAddress a{.octets = {}, .v6 = true};
  CHECK(to_string(a) == "::");
  a.octets[15] = std::byte{1};
  CHECK(to_string(a) == "::1");
  a.octets[0] = std::byte{0x20};
  a.octets[1] = std::byte{0x01};
  CHECK(to_string(a) == "2001::1");
  a.octets.fill(std::byte{0x11});
  CHECK(to_string(a) == "1111:1111:1111:1111:1111:1111:1111:1111");
}

}  // namespace
}  // namespace iwarp::test
