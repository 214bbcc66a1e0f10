// SPDX-License-Identifier: Apache-2.0
// Tests CaptureFile and CaptureTap: libpcap can read their files, and they contain the packets that
// a TCP would send.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "capture_reader.hpp"
#include "iwarp/bytes/hex.hpp"
#include "iwarp/trace/capture_file.hpp"
#include "iwarp/trace/capture_tap.hpp"
#include "support.hpp"
#include "temporary_file.hpp"

namespace iwarp::test {
namespace {

using namespace trace;

const CaptureEnds kV4{{"10.1.2.3", 40001}, {"10.1.2.4", 7174}};
const CaptureEnds kV6{{"fd00::1", 40001}, {"fd00::2", 7174}, false};

std::shared_ptr<CaptureFile> create(const TemporaryFile& file) {
  auto capture = CaptureFile::create(file.path(), kClock);
  REQUIRE_MESSAGE(capture.has_value(), (capture ? "" : capture.error()));
  return *capture;
}

void tap(CaptureTap& tap, const WireScript& script) {
  int nanos = 0;
  for (const auto& sent : script.sent) tap.octets(sent.outbound, sent.octets, later(++nanos));
}

std::vector<TcpPacket> captured(const WireScript& script, const CaptureEnds& ends) {
  const TemporaryFile file;
  auto capture = create(file);
  {
    CaptureTap capture_tap(capture, ends);
    tap(capture_tap, script);
    capture_tap.closed(true, false, later(1000));
    capture_tap.closed(false, false, later(1001));
  }
  CHECK(capture->error().empty());
  return read_capture(file.path());
}

TEST_CASE("a captured connection has a handshake, one frame in each segment, and a close") {
  for (const auto& ends : {kV4, kV6}) {
    const auto script = short_session({true, true, true});
    const auto packets = captured(script, ends);
    REQUIRE(packets.size() == 3 + script.sent.size() + 3);
    CHECK(packets[0].flags == kTcpSyn);
    CHECK((packets[0].source_port == 40001) == ends.near_opened);
    CHECK(packets[1].flags == (kTcpSyn | kTcpAck));
    CHECK(packets[2].flags == kTcpAck);
    for (std::size_t i = 0; i < script.sent.size(); ++i) {
      const auto& packet = packets[3 + i];
      CHECK(packet.payload == script.sent[i].octets);
      CHECK((packet.source_port == 40001) == script.sent[i].outbound);
      CHECK(packet.nanoseconds == 1'700'000'000'000'000'001 + static_cast<std::int64_t>(i));
    }
    CHECK(packets[packets.size() - 3].flags == (kTcpFin | kTcpAck));
    CHECK(packets[packets.size() - 2].flags == (kTcpFin | kTcpAck));
    CHECK(packets.back().flags == kTcpAck);
  }
}

TEST_CASE("sequence and acknowledgement numbers are contiguous") {
  const auto packets = captured(short_session({}), kV4);
  std::map<std::uint16_t, std::uint32_t> next;
  for (const auto& p : packets) {
    if (next.contains(p.source_port)) CHECK(p.seq == next[p.source_port]);
    if ((p.flags & kTcpAck) != 0) CHECK(p.ack == next[p.destination_port]);
    const std::uint32_t counted = (p.flags & (kTcpSyn | kTcpFin)) != 0 ? 1 : 0;
    next[p.source_port] = p.seq + static_cast<std::uint32_t>(p.payload.size()) + counted;
  }
}

TEST_CASE("every checksum is correct, and the addresses are those of the ends") {
  for (const auto& ends : {kV4, kV6}) {
    const auto packets = captured(short_session({}), ends);
    for (const auto& p : packets) {
      CHECK(p.checksums_good);
      CHECK(p.ip_version == (p.source.size() == 4 ? 4 : 6));
    }
  }
  const auto v4 = captured(short_session({}), kV4);
  CHECK(bytes::to_hex(v4[0].source) == "0a010203");
  CHECK(bytes::to_hex(v4[0].destination) == "0a010204");
  const auto v6 = captured(short_session({}), kV6);
  CHECK(bytes::to_hex(v6[0].source, 0) == "fd000000000000000000000000000002");
}

TEST_CASE("host names get substitute addresses, and mixed families become IPv6") {
  const auto names = captured(short_session({}), {{"localhost", 1}, {"", 2}});
  CHECK(bytes::to_hex(names[0].source) == "c0000201");
  CHECK(bytes::to_hex(names[0].destination) == "c0000202");
  const auto mixed = captured(short_session({}), {{"10.1.2.3", 1}, {"fe80::1%eth0", 2}});
  CHECK(bytes::to_hex(mixed[0].source, 0) == "00000000000000000000ffff0a010203");
  CHECK(bytes::to_hex(mixed[0].destination, 0) == "fe800000000000000000000000000001");
}

TEST_CASE("a segment holds one frame, however the stream was split") {
  const auto script = short_session({false, false, true});
  const TemporaryFile file;
  {
    CaptureTap tap(create(file), kV4);
    for (const auto& sent : script.sent) {
      for (const std::byte octet : sent.octets) tap.octets(sent.outbound, {&octet, 1}, later(0));
    }
  }
  const auto packets = read_capture(file.path());
  REQUIRE(packets.size() == 3 + script.sent.size());
  for (std::size_t i = 0; i < script.sent.size(); ++i) {
    CHECK(packets[3 + i].payload == script.sent[i].octets);
  }
}

TEST_CASE("the largest frame that fits goes into one segment, the next larger one into two") {
  // Uses octets that are not an MPA frame, because the decoder reports any number of such octets as
  // one frame.
  for (const std::size_t size : {CaptureTap::kMaxSegment, CaptureTap::kMaxSegment + 1}) {
    for (const auto& ends : {kV4, kV6}) {
      const TemporaryFile file;
      {
        CaptureTap tap(create(file), ends);
        tap.octets(true, Octets(size), later(0));
      }
      const auto packets = read_capture(file.path());
      REQUIRE(packets.size() == (size == CaptureTap::kMaxSegment ? 4 : 5));
      std::size_t sum = 0;
      for (const auto& p : packets) {
        CHECK(p.checksums_good);
        sum += p.payload.size();
      }
      CHECK(sum == size);
    }
  }
}

TEST_CASE("the largest possible FPDU stays in one piece") {
  auto script = WireScript::started({false, true, true});
  script.tagged(true, rdmap::Opcode::kWrite, 1, 0, counting(mpa::kMaxMulpdu - 14));
  const auto packets = captured(script, kV4);
  CHECK(packets[5].payload == script.sent[2].octets);
}

TEST_CASE("a reset ends both directions, and nothing is written after it") {
  const TemporaryFile file;
  {
    CaptureTap tap(create(file), kV4);
    tap.octets(true, short_session({}).sent[0].octets, later(0));
    tap.closed(false, true, later(1));
    tap.closed(true, false, later(2));
  }
  const auto packets = read_capture(file.path());
  REQUIRE(packets.size() == 5);
  CHECK(packets[4].flags == (kTcpRst | kTcpAck));
  CHECK(packets[4].source_port == 7174);
}

TEST_CASE("the file is complete after each frame, while it is still being written") {
  const TemporaryFile file;
  CaptureTap tap(create(file), kV4);
  CHECK(read_capture(file.path()).empty());
  std::size_t frames = 0;
  for (const auto& sent : short_session({}).sent) {
    tap.octets(sent.outbound, sent.octets, later(0));
    CHECK(read_capture(file.path()).size() == 3 + ++frames);
  }
}

TEST_CASE("the received part of a frame is written when the tap is destroyed") {
  const TemporaryFile file;
  const auto script = short_session({});
  {
    CaptureTap tap(create(file), kV4);
    tap.octets(true, script.sent[0].octets, later(0));
    tap.octets(false, bytes::View(script.sent[1].octets).first(7), later(0));
  }
  const auto packets = read_capture(file.path());
  REQUIRE(packets.size() == 5);
  CHECK(packets[4].payload.size() == 7);
}

TEST_CASE("connections on several threads share one file") {
  constexpr std::uint16_t kConnections = 4;
  constexpr std::size_t kSends = 200;
  const TemporaryFile file;
  const auto capture = create(file);
  const auto run = [&capture](std::uint16_t n) {
    CaptureTap tap(capture, {{"10.0.0.1", static_cast<std::uint16_t>(40000 + n)}, {"10.0.0.2", 1}});
    auto script = WireScript::started();
    for (std::uint32_t i = 1; i <= kSends; ++i) script.send(true, i, counting(i));
    for (const auto& sent : script.sent) tap.octets(sent.outbound, sent.octets, later(0));
  };
  std::vector<std::thread> threads;
  for (std::uint16_t n = 0; n < kConnections; ++n) threads.emplace_back(run, n);
  for (auto& thread : threads) thread.join();

  const auto connections = reassemble(read_capture(file.path()));
  REQUIRE(connections.size() == kConnections);
  for (const auto& connection : connections) {
    Observer observer;
    for (const auto& piece : connection.pieces) observer.see(piece.from_opener, piece.octets);
    CHECK(observer.count(trace::CrcVerdict::kGood) == kSends);
  }
}

TEST_CASE("a file that cannot be created is refused with one line that names it") {
  const auto capture = CaptureFile::create("/nowhere/at/all.pcap", kClock);
  REQUIRE_FALSE(capture.has_value());
  CHECK(capture.error() ==
        "cannot write the capture file /nowhere/at/all.pcap: No such file or directory");
}

TEST_CASE("if the file cannot grow, the capture ends with a message and nothing else changes") {
  const TemporaryFile file;
  const auto capture = create(file);
  CaptureTap capture_tap(capture, kV4);
  auto script = WireScript::started();
  for (std::uint32_t i = 1; i <= 20; ++i) script.send(true, i, counting(1000));
  with_file_limit(8192, [&] { tap(capture_tap, script); });
  CHECK(capture->error() == "cannot write the capture file " + file.path() + ": File too large");
  CHECK(std::filesystem::file_size(file.path()) == 8192);
}

TEST_CASE("a disk that is full from the start makes the capture fail to open") {
  if (!std::filesystem::exists("/dev/full")) {
    MESSAGE("skipped: no /dev/full here");
    return;
  }
  const auto capture = CaptureFile::create("/dev/full", kClock);
  REQUIRE_FALSE(capture.has_value());
  CHECK(capture.error() == "cannot write the capture file /dev/full: No space left on device");
}

}  // namespace
}  // namespace iwarp::test
