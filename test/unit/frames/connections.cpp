// SPDX-License-Identifier: Apache-2.0
// Tests that Connections detects MPA connections among packets, follows them through loss and port
// reuse, and drops their state when they end.
#include "frames/connections/connections.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/trace/trace_file.hpp"
#include "made_packets.hpp"
#include "wire_script.hpp"

namespace iwarp::test {
namespace {

using namespace frames;

constexpr std::uint8_t kFinAck = 0x11, kSyn = 0x02, kSynAck = 0x12, kRst = 0x04;

struct Listener final : frames::ConnectionListener {
  void frame(const ConnectionInfo& i, const frames::Explained& e,
             const frames::PacketMark& mark) override {
    info = i;
    ++frames;
    packets.push_back(mark.packet);
    violations += e.violations.size();
    bad += e.frame->crc == trace::CrcVerdict::kBad ? 1 : 0;
    unknown += e.frame->crc == trace::CrcVerdict::kUnknown ? 1 : 0;
    startups += e.frame->kind == trace::FrameKind::kStartup ? 1 : 0;
    if (e.request) ++answers;
  }
  void skipped(const ConnectionInfo&, const frames::Skipped& s) override { skips.push_back(s); }
  void datagram(const frames::SeenDatagram& d, const frames::PacketMark&) override {
    datagrams.push_back(fmt::format("{} > {} {:06x} > {:06x} {} octets{}", to_string(d.source),
                                    to_string(d.destination), d.datagram.header.source,
                                    d.datagram.header.destination, d.datagram.payload.size(),
                                    d.has_right_crc ? "" : ", damaged"));
  }
  void closed(const ConnectionInfo& i, const frames::Closed& c,
              const frames::PacketMark&) override {
    info = i;
    endings.push_back(c);
  }
  ConnectionInfo info;
  std::size_t frames = 0, violations = 0, bad = 0, unknown = 0, startups = 0, answers = 0;
  /// Number of the packet in which each frame ended, in the order of the callbacks.
  std::vector<std::uint64_t> packets;
  std::vector<frames::Skipped> skips;
  std::vector<frames::Closed> endings;
  std::vector<std::string> datagrams;
};

/// The packets of one TCP connection that carries the frames of a script, in order.
struct Wire {
  std::vector<PacketOctets> packets;
  MadePacket form;
  std::array<std::uint32_t, 2> seq{0x10000, 0xFFFFFFF0};

  void add(bool outbound, bytes::View payload, std::uint8_t flags = 0x18) {
    auto made = form;
    made.outbound = outbound;
    made.flags = flags;
    made.seq = seq[outbound ? 0 : 1];
    made.ack = seq[outbound ? 1 : 0];
    packets.push_back(made(payload));
    const bool counts = (flags & 0x03) != 0;
    seq[outbound ? 0 : 1] += static_cast<std::uint32_t>(payload.size()) + (counts ? 1 : 0);
  }
  void open() {
    add(true, {}, kSyn);
    add(false, {}, kSynAck);
  }
  void script(const WireScript& script, std::size_t first = 0) {
    for (std::size_t i = first; i < script.sent.size(); ++i) {
      add(script.sent[i].outbound, script.sent[i].octets);
    }
  }
  void close() {
    add(true, {}, kFinAck);
    add(false, {}, kFinAck);
  }
};

void show(frames::Connections& connections, const Wire& wire) {
  std::uint64_t number = 0;
  for (const auto& packet : wire.packets) {
    connections.packet(wire.form.link, packet, packet.size(), {.packet = ++number});
  }
}

Listener look_at(const Wire& wire) {
  Listener seen;
  frames::Connections connections(seen);
  show(connections, wire);
  connections.finish();
  return seen;
}

Wire whole(const MadePacket& form = {}) {
  Wire wire{.packets = {}, .form = form};
  wire.open();
  wire.script(short_session({}));
  wire.close();
  return wire;
}

TEST_CASE("a connection is followed from SYN to FIN, on any link, IPv4 and IPv6") {
  for (const bool v6 : {false, true}) {
    for (const int link : {frames::kLinkEthernet, frames::kLinkCooked2, frames::kLinkRaw}) {
      const auto seen = look_at(whole({.link = link, .v6 = v6}));
      CHECK(seen.frames == 12);
      CHECK(seen.startups == 2);
      CHECK(seen.answers == 1);
      CHECK(seen.violations == 1);
      CHECK(seen.skips.empty());
      REQUIRE(seen.endings.size() == 1);
      CHECK(seen.endings[0].how == Closing::kFin);
      CHECK(seen.info.opening_seen);
      CHECK(seen.info.near.port == 4000);
    }
  }
}

TEST_CASE("a late packet releases the octets that wait for it, and nothing is reported early") {
  const auto wire = whole();
  for (std::size_t late = 2; late + 3 < wire.packets.size(); ++late) {
    CAPTURE(late);
    auto moved = wire;
    std::swap(moved.packets[late], moved.packets[late + 1]);
    const auto seen = look_at(moved);
    CHECK(std::ranges::is_sorted(seen.packets));
    // If a later acknowledgement proves that the octets of the hole were sent, the reader reports
    // them as missing at once. This test then has nothing to check.
    if (seen.endings[0].tcp[0].missing + seen.endings[0].tcp[1].missing != 0) continue;
    CHECK(seen.frames == 12);
    if (late == 6) CHECK(seen.violations == 1);  // Packets 6 and 7 are segments of one Write.
    CHECK(seen.skips.empty());
  }
}

TEST_CASE("a hole that is not acknowledged delays the other stream for a bounded time") {
  Wire wire;
  wire.open();
  auto script = WireScript::started();
  wire.script(script);
  wire.seq[1] += 50;  // Leaves a hole in the stream.
  const auto acknowledged = wire.seq[1] - 50;
  wire.add(false, counting(10));
  for (int i = 0; i < 400; ++i) {
    wire.seq[1] = acknowledged;
    wire.add(true, counting(1000));
  }
  Listener seen;
  frames::Connections connections(seen);
  std::size_t most = 0;
  for (const auto& packet : wire.packets) {
    connections.packet(wire.form.link, packet, packet.size(), {.packet = 1});
    most = std::max(most, connections.held());
  }
  CHECK(most > frames::Connections::kMaxKept / 2);
  CHECK(most < 2 * frames::Connections::kMaxKept);
  connections.finish();
  CHECK(seen.endings[0].tcp[1].missing == 50);
}

/// Makes a UDP packet that starts with the IP header, as captured from a link without a link-layer
/// header.
std::vector<std::byte> udp_packet(bytes::View payload, std::uint16_t port, bool v6) {
  std::vector<std::byte> out((v6 ? 40 : 20) + 8 + payload.size());
  bytes::Writer writer(out);
  const auto size = static_cast<std::uint16_t>(8 + payload.size());
  if (v6) {
    writer.u32(0x60000000);
    writer.u16(size);
    writer.u16(17 << 8 | 64);
    for (const std::uint8_t last : {std::uint8_t{1}, std::uint8_t{2}}) {
      writer.u16(0xFD00);
      writer.zeros(13);
      writer.u8(last);
    }
  } else {
    writer.u16(0x4500);
    writer.u16(static_cast<std::uint16_t>(20 + size));
    writer.u32(0);
    writer.u16(64 << 8 | 17);
    writer.u16(0);
    writer.u32(0x0A000001);
    writer.u32(0x0A000002);
  }
  writer.u16(4000);
  writer.u16(port);
  writer.u16(size);
  writer.u16(0);
  writer.put(payload);
  return out;
}

std::vector<std::byte> ud_octets(std::uint32_t destination) {
  const auto header = verbs::encode(
      {.destination = destination, .source = 0x810FA0, .q_key = 5, .instance = 6, .msn = 7});
  std::vector<std::byte> out(header.begin(), header.end());
  out.resize(out.size() + 3);
  const auto crc = mpa::crc_octets(crc32c::compute(out));
  out.insert(out.end(), crc.begin(), crc.end());
  return out;
}

TEST_CASE("datagrams of this stack are distinguished from others at the port that they name") {
  Listener seen;
  frames::Connections connections(seen);
  const auto give = [&](bytes::View packet, std::size_t wire = 0) {
    connections.packet(frames::kLinkRaw, packet, std::max(wire, packet.size()), {});
  };
  constexpr std::uint32_t kQp = 0x821234;
  auto octets = ud_octets(kQp);
  for (const bool v6 : {false, true}) give(udp_packet(octets, 0x1234, v6));
  give(udp_packet(ud_octets(0xFFFFFF), 0xFFFF, false));  // a datagram to a multicast group
  octets[40] ^= std::byte{1};
  give(udp_packet(octets, 0x1234, false));
  CHECK(seen.datagrams == std::vector<std::string>{
                              "10.0.0.1:4000 > 10.0.0.2:4660 810fa0 > 821234 3 octets",
                              "[fd00::1]:4000 > [fd00::2]:4660 810fa0 > 821234 3 octets",
                              "10.0.0.1:4000 > 10.0.0.2:65535 810fa0 > ffffff 3 octets",
                              "10.0.0.1:4000 > 10.0.0.2:4660 810fa0 > 821234 3 octets, damaged"});
  CHECK(connections.counts().datagrams == 4);
  give(udp_packet(octets, 0x1235, false));  // Uses another port.
  give(udp_packet(std::vector<std::byte>(100), 0x1234, false));
  for (const bool v6 : {false, true}) {
    const auto packet = udp_packet(octets, 0x1234, v6);
    for (std::size_t n = 0; n != packet.size(); ++n) {
      give(std::vector(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(n)),
           packet.size());
    }
  }
  CHECK(connections.counts().datagrams == 4);
}

/// Parses each packet at the moment when a tap writes it.
struct ReadBack final : trace::PacketSink {
  explicit ReadBack(frames::ConnectionListener& listener) : connections(listener) {}
  void write(bytes::View packet, mpa::TimePoint /*now*/) override {
    connections.packet(frames::kLinkEthernet, packet, packet.size(), {});
  }
  frames::Connections connections;
};

TEST_CASE("datagrams of a tap can be read back from the capture, whichever end sent them") {
  Listener seen;
  const auto sink = std::make_shared<ReadBack>(seen);
  const auto tap = trace::capture_datagrams(sink);
  const auto octets = ud_octets(0x821234);
  verbs::DatagramEnds ends{.own_port = 0x0FA0, .peer_port = 0x1234};
  ends.own = {0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  ends.peer = {0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  tap->datagram(true, ends, octets, {});
  ends = {.own = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2},
          .own_port = 0x1234,
          .peer = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1},
          .peer_port = 0x0FA0};
  tap->datagram(false, ends, octets, {});
  CHECK(seen.datagrams ==
        std::vector<std::string>{"[fd00::1]:4000 > [fd00::2]:4660 810fa0 > 821234 3 octets",
                                 "10.0.0.1:4000 > 10.0.0.2:4660 810fa0 > 821234 3 octets"});
}

TEST_CASE("a capture that lacks one packet loses its frame, and reports the loss") {
  const auto all = whole();
  for (std::size_t lost = 2; lost + 2 < all.packets.size(); ++lost) {
    CAPTURE(lost);
    auto wire = all;
    wire.packets.erase(wire.packets.begin() + static_cast<std::ptrdiff_t>(lost));
    const auto seen = look_at(wire);
    CHECK(seen.frames >= 10);
    CHECK(seen.frames < 12);
    CHECK(seen.bad == 0);
    CHECK(seen.skips.size() + seen.unknown >= 1);
    CHECK(std::ranges::is_sorted(seen.packets));
    REQUIRE(seen.endings.size() == 1);
    for (const auto& counts : seen.endings[0].tcp) CHECK(counts.reordered == 0);
    CHECK(seen.endings[0].tcp[0].missing + seen.endings[0].tcp[1].missing > 0);
  }
}

TEST_CASE("a capture that begins in the middle, and a capture of one direction") {
  Wire middle;
  middle.script(short_session({}), 4);
  const auto seen = look_at(middle);
  CHECK(seen.frames == 8);
  CHECK(seen.startups == 0);
  CHECK_FALSE(seen.info.opening_seen);
  CHECK(seen.info.guessed[0]);
  REQUIRE(seen.endings.size() == 1);
  CHECK(seen.endings[0].how == Closing::kEndOfFile);

  auto script = short_session({});
  std::erase_if(script.sent, [](const auto& sent) { return !sent.outbound; });
  Wire one_sided;
  one_sided.script(script);
  const auto one = look_at(one_sided);
  CHECK(one.frames == script.sent.size());
  CHECK(one.info.seen[0]);
  CHECK_FALSE(one.info.seen[1]);
  CHECK(one.endings[0].unanswered[0] == 1);
}

TEST_CASE("a connection that reuses ports is a new connection") {
  auto wire = whole();
  const auto first = wire.packets;
  wire.seq = {77, 88};
  wire.open();
  wire.script(short_session({}));
  wire.add(true, {}, kRst);
  const auto seen = look_at(wire);
  CHECK(seen.frames == 24);
  REQUIRE(seen.endings.size() == 2);
  CHECK(seen.endings[1].how == Closing::kReset);
  CHECK(seen.info.number == 2);

  Wire cut{.packets = {first.begin(), first.begin() + 8}};
  cut.seq = {77, 88};
  cut.open();
  const auto replaced = look_at(cut);
  REQUIRE(replaced.endings.size() == 1);
  CHECK(replaced.endings[0].how == Closing::kReplaced);
}

TEST_CASE("streams that are not MPA are dropped, and held octets are reported") {
  Listener seen;
  frames::Connections connections(seen);
  const auto other = counting(1400);
  for (std::uint16_t port = 1; port <= 2 * frames::Connections::kMaxMpa; ++port) {
    Wire wire{.packets = {}, .form = {.near_port = port}};
    wire.open();
    if (port % 2 == 0) wire.script(short_session({}));
    for (int i = 0; i < 3; ++i) wire.add(true, other);
    show(connections, wire);
  }
  CHECK(connections.counts().connections == 2 * frames::Connections::kMaxMpa);
  CHECK(connections.counts().mpa == frames::Connections::kMaxMpa);
  CHECK(connections.counts().set_aside == 0);
  for (std::uint16_t port = 0; port < 10; ++port) {
    Wire wire{.packets = {}, .form = {.near_port = static_cast<std::uint16_t>(40000 + port)}};
    wire.open();
    wire.script(short_session({}));
    show(connections, wire);
  }
  CHECK(connections.counts().set_aside == 10);
  connections.finish();
  CHECK(seen.endings.size() == frames::Connections::kMaxMpa + 10);
  CHECK(seen.endings.front().how == Closing::kSetAside);
}

TEST_CASE("the memory that all connections hold together is bounded") {
  Listener seen;
  frames::Connections connections(seen);
  const auto piece = counting(60000);
  for (std::uint16_t port = 1; port <= 400; ++port) {
    Wire wire{.packets = {}, .form = {.near_port = port}};
    wire.open();
    wire.seq[0] += 10;  // Leaves a hole, so that everything after it is held back.
    for (int i = 0; i < 4; ++i) wire.add(true, piece);
    show(connections, wire);
    CHECK(connections.held() <= frames::Connections::kMaxHeld + 5 * piece.size());
  }
}

}  // namespace
}  // namespace iwarp::test
