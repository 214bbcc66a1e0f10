// SPDX-License-Identifier: Apache-2.0
// Tests how TcpReassembly rebuilds a stream from duplicated, late, overlapping, truncated or
// missing segments.
#include "frames/connections/tcp_reassembly.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "wire_script.hpp"

namespace iwarp::test {

namespace frames = apps::frames;

namespace {

using namespace frames;

/// Collects the reassembled stream; missing octets become 0xEE.
struct Sink final : frames::StreamSink {
  void octets(bytes::View in, const PacketMark&) override {
    stream.insert(stream.end(), in.begin(), in.end());
  }
  void missing(std::uint64_t n, const PacketMark&) override {
    lost += n;
    if (n < 1'000'000) stream.resize(stream.size() + n, std::byte{0xEE});
  }
  std::vector<std::byte> stream;
  std::uint64_t lost = 0;
};

// The initial sequence number is close to 2^32, so that sequence numbers soon wrap around.
constexpr std::uint32_t kIsn = 0xFFFFFF00;

struct Direction {
  TcpReassembly tcp;
  Sink sink;
  const std::vector<std::byte> all = counting(4000);

  void syn() { tcp.segment({.seq = kIsn - 1, .syn = true}, {}, sink); }
  void give(std::size_t from, std::size_t size, std::size_t captured = SIZE_MAX, bool fin = false) {
    const auto payload = bytes::View(all).subspan(from, std::min(size, captured));
    tcp.segment({.seq = kIsn + static_cast<std::uint32_t>(from),
                 .fin = fin,
                 .payload = payload,
                 .size = size},
                {}, sink);
  }
  bool is_all(std::size_t size) const {
    return sink.stream.size() == size &&
           std::equal(sink.stream.begin(), sink.stream.end(), all.begin());
  }
};

TEST_CASE("segments that are reordered, duplicated or overlapping form one stream") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Direction d;
    d.syn();
    struct Piece {
      std::size_t from, size;
    };
    std::vector<Piece> pieces;
    for (std::size_t at = 0; at < 4000;) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 90, 4000 - at);
      const std::size_t back = std::min<std::size_t>(random() % 40, at);
      pieces.push_back({at - back, size + back});
      if (random() % 4 == 0) pieces.push_back(pieces[random() % pieces.size()]);
      at += size;
    }
    // Reorders packets within a window, as a network may.
    for (std::size_t i = 0; i + 8 < pieces.size(); i += 4) {
      std::shuffle(pieces.begin() + static_cast<std::ptrdiff_t>(i),
                   pieces.begin() + static_cast<std::ptrdiff_t>(i + 8), random);
    }
    for (const auto& piece : pieces) d.give(piece.from, piece.size);
    CHECK(d.is_all(4000));
    CHECK(d.tcp.held() == 0);
    CHECK(d.sink.lost == 0);
  }
}

TEST_CASE("a hole is skipped at the end, or when too much is held, and is reported") {
  Direction d;
  d.syn();
  d.give(0, 100);
  d.give(150, 100);
  CHECK(d.sink.stream.size() == 100);
  CHECK(d.tcp.held() == 100);
  d.tcp.finish(d.sink);
  CHECK(d.sink.lost == 50);
  CHECK(d.sink.stream.size() == 250);
  CHECK(d.sink.stream[120] == std::byte{0xEE});
  CHECK(d.sink.stream[150] == d.all[150]);
  CHECK(d.tcp.counts().missing == 50);

  Direction full;
  full.syn();
  for (std::size_t i = 0; i <= TcpReassembly::kMaxSegments; ++i) full.give(10 + i, 1);
  CHECK(full.sink.lost == 10);
  CHECK(full.tcp.held() == 0);
}

TEST_CASE("a hole that the peer has acknowledged is not waited for") {
  Direction d;
  d.syn();
  d.give(10, 10);
  d.give(50, 10);
  d.tcp.acknowledged(kIsn, d.sink);
  // The last octet of the hole is not acknowledged yet, so it may still arrive.
  d.tcp.acknowledged(kIsn + 9, d.sink);
  CHECK(d.sink.lost == 0);
  d.tcp.acknowledged(kIsn + 10, d.sink);
  CHECK(d.sink.lost == 10);
  CHECK(d.tcp.waits());
  d.give(60, 10);
  d.give(90, 10);
  d.tcp.acknowledged(kIsn + 95, d.sink);
  CHECK(d.sink.lost == 10 + 30 + 20);
  CHECK_FALSE(d.tcp.waits());
}

TEST_CASE("segments that arrive late count as out of order, segments that wait for them do not") {
  Direction d;
  d.syn();
  d.give(0, 10);
  d.give(20, 10);
  d.give(30, 10);
  d.give(50, 10);
  d.give(30, 10);  // This is a duplicate.
  CHECK(d.tcp.counts().reordered == 0);
  CHECK(d.tcp.counts().repeated == 10);
  d.give(40, 10);  // Arrives late: octets 50 to 59 arrived earlier.
  CHECK(d.tcp.counts().reordered == 1);
  d.give(10, 10);
  CHECK(d.tcp.counts().reordered == 2);
  CHECK(d.is_all(60));
  d.give(10, 10);  // This is a duplicate.
  CHECK(d.tcp.counts().reordered == 2);
  CHECK(d.tcp.counts().repeated == 20);
}

TEST_CASE("a capture without the SYN begins with the first octets that it has") {
  Direction d;
  // An acknowledgement without data does not begin the stream.
  d.tcp.segment({.seq = kIsn - 5000}, {}, d.sink);
  d.give(1000, 100);
  // This segment is late. It precedes the first octet of the capture, so it looks like a
  // retransmission.
  d.give(900, 100);
  d.give(1100, 100);
  CHECK(d.sink.stream.size() == 200);
  CHECK(d.tcp.counts().repeated == 100);
}

TEST_CASE("payload beyond the snap length is missing, and the stream continues after it") {
  Direction d;
  d.syn();
  d.give(0, 100, 40);
  d.give(200, 100, 40);
  d.give(100, 100, 40);
  CHECK(d.sink.lost == 180);
  CHECK(d.sink.stream.size() == 300);
  CHECK(d.sink.stream[100] == d.all[100]);
  CHECK(d.sink.stream[60] == std::byte{0xEE});
}

TEST_CASE("the FIN ends the stream when everything before it has arrived") {
  Direction d;
  d.syn();
  d.give(100, 10, SIZE_MAX, true);
  CHECK_FALSE(d.tcp.ended());
  d.give(0, 100);
  CHECK(d.tcp.ended());
  CHECK(d.is_all(110));
  d.give(110, 10);
  CHECK(d.is_all(110));
}

TEST_CASE("a keep-alive probe of one old octet, and a sequence number far ahead") {
  Direction d;
  d.syn();
  d.give(0, 100);
  d.give(99, 1);
  CHECK(d.tcp.counts().repeated == 1);
  // This sequence number is 0x70000000 octets before the next expected one, which is further back
  // than any retransmission. TcpReassembly therefore treats it as 0x90000000 octets ahead.
  d.tcp.segment(
      {.seq = kIsn + 100 + 0x90000000U, .payload = bytes::View(d.all).first(5), .size = 5}, {},
      d.sink);
  d.tcp.finish(d.sink);
  CHECK(d.sink.lost == 0x90000000U);
}

}  // namespace
}  // namespace iwarp::test
