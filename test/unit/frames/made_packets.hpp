// SPDX-License-Identifier: Apache-2.0
// Makes synthetic packets of one TCP connection to test capture readers: any link layer, IPv4 or
// IPv6, no checksums. The near end is 10.0.0.1:4000 or fd00::1. The far end is 10.0.0.2:7174 or
// fd00::2.
#pragma once

#include <cstdint>
#include <vector>

#include "frames/connections/packet.hpp"
#include "iwarp/bytes/cursor.hpp"

namespace iwarp::test {

namespace frames = apps::frames;

using PacketOctets = std::vector<std::byte>;

struct MadePacket {
  int link = frames::kLinkEthernet;
  bool v6 = false;
  unsigned vlans = 0;
  bool outbound = true;
  std::uint16_t near_port = 4000;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint8_t flags = 0x18;  ///< PSH, ACK
  std::size_t options = 0;    ///< octets of TCP options

  PacketOctets operator()(bytes::View payload) const {
    PacketOctets out;
    add_link(out);
    const std::size_t tcp = 20 + options + payload.size();
    add_ip(out, tcp);
    add16(out, outbound ? near_port : 7174);
    add16(out, outbound ? 7174 : near_port);
    add32(out, seq);
    add32(out, ack);
    add8(out, (5 + options / 4) << 4);
    add8(out, flags);
    add16(out, 65535);
    add32(out, 0);
    for (std::size_t i = 0; i < options; ++i) add8(out, 1);
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
  }

 private:
  static void add8(PacketOctets& out, std::size_t v) { out.push_back(static_cast<std::byte>(v)); }
  static void add16(PacketOctets& out, std::size_t v) { add8(out, v >> 8), add8(out, v & 0xFF); }
  static void add32(PacketOctets& out, std::size_t v) {
    add16(out, v >> 16), add16(out, v & 0xFFFF);
  }

  void add_link(PacketOctets& out) const {
    const std::size_t type = v6 ? 0x86DD : 0x0800;
    switch (link) {
      case frames::kLinkEthernet:
        for (int i = 0; i < 12; ++i) add8(out, 2);
        for (unsigned i = 0; i < vlans; ++i) add16(out, i == 0 ? 0x88A8 : 0x8100), add16(out, 5);
        add16(out, type);
        break;
      case frames::kLinkCooked:
        for (int i = 0; i < 14; ++i) add8(out, 0);
        add16(out, type);
        break;
      case frames::kLinkCooked2:
        add16(out, type);
        for (int i = 0; i < 18; ++i) add8(out, 0);
        break;
      case frames::kLinkNull:
      case frames::kLinkLoop:
        add32(out, v6 ? 24 : 2);
        break;
      default:
        break;
    }
  }

  void add_ip(PacketOctets& out, std::size_t tcp) const {
    const std::size_t from = outbound ? 1 : 2;
    const std::size_t to = 3 - from;
    if (v6) {
      add32(out, 0x60000000), add16(out, tcp), add8(out, 6), add8(out, 64);
      for (const auto end : {from, to}) {
        add16(out, 0xFD00);
        for (int i = 0; i < 6; ++i) add16(out, 0);
        add16(out, end);
      }
      return;
    }
    add16(out, 0x4500), add16(out, 20 + tcp), add32(out, 0), add8(out, 64), add8(out, 6);
    add16(out, 0);
    for (const auto end : {from, to}) add32(out, 0x0A000000 + end);
  }
};

}  // namespace iwarp::test
