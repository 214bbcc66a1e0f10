// SPDX-License-Identifier: Apache-2.0
// Tests every kind of operation on every kind of connection, and compares every byte.
#include <thread>

#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

// Performs one Write, one Read and one Send, and then one Send in the other direction. The buffers
// have `size` bytes.
void move_and_check(Pair& pair, std::size_t size) {
  End& a = pair.a;
  End& b = pair.b;
  const auto part = size / 4;
  b.post_recv(3 * part, part, 7);
  const auto written = std::vector(a.buffer.begin(), a.buffer.begin() + std::ptrdiff_t(part));
  const auto read = std::vector(b.buffer.begin() + std::ptrdiff_t(part),
                                b.buffer.begin() + std::ptrdiff_t(2 * part));
  REQUIRE_FALSE(a.post(WrOpcode::kWrite, 0, part, b.remote(0), 1));
  REQUIRE_FALSE(a.post(WrOpcode::kRead, part, part, b.remote(part), 2));
  REQUIRE_FALSE(a.post(WrOpcode::kSend, 2 * part, part - 1, {}, 3));
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const auto wc = a.completion();
    CHECK_EQ(wc.wr_id, id);
    REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
  }
  const auto wc = b.completion();
  REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
  CHECK_EQ(wc.wr_id, 7);
  CHECK_EQ(wc.byte_len, part - 1);
  CHECK(std::equal(written.begin(), written.end(), b.buffer.begin()));
  CHECK(std::equal(read.begin(), read.end(), a.buffer.begin() + std::ptrdiff_t(part)));
  CHECK(std::equal(a.buffer.begin() + std::ptrdiff_t(2 * part),
                   a.buffer.begin() + std::ptrdiff_t(3 * part - 1),
                   b.buffer.begin() + std::ptrdiff_t(3 * part)));
  // Performs the Send in the other direction.
  a.post_recv(0, part, 8);
  b.perform(WrOpcode::kSend, 3 * part, part);
  a.expect_success();
  CHECK(std::equal(b.buffer.begin() + std::ptrdiff_t(3 * part), b.buffer.end(), a.buffer.begin()));
}

}  // namespace

TEST_CASE(
    "large messages arrive complete: placed after the CRC check, placed directly, without CRC, and "
    "with markers [MPA-2] [MPA-36]") {
  constexpr std::size_t kSize = 8 << 20;
  for (int kind = 0; kind < 4; ++kind) {
    CAPTURE(kind);
    ConnectOptions connect;
    ListenOptions listen;
    connect.connection.startup.crc = listen.connection.startup.crc = kind != 2;
    connect.connection.startup.markers = listen.connection.startup.markers = kind == 3;
    if (kind == 1) {
      connect.connection.placement = listen.connection.placement = verbs::Placement::kDirect;
    }
    Pair pair(kSize, {}, {"::1", 0}, listen);
    pair.connect(connect);
    move_and_check(pair, kSize);
    const auto counters = pair.rnic->counters();
    CHECK_EQ(counters.octets_placed, kSize - 1);
    CHECK_GT(counters.send_calls, 0);
    CHECK_GT(counters.receive_calls, 0);
    if (kind == 2) CHECK_EQ(counters.octets_crced, 0);
  }
}

TEST_CASE("many connections at once from several threads, on two workers") {
  constexpr int kThreads = 4;
  constexpr int kEach = 4;
  auto rnic = open_rnic({.workers = 2});
  End server(*rnic);
  auto listener = must(rnic->listen({"127.0.0.1", 0}, {}, *server.cm));
  std::jthread passive([&] {
    std::vector<std::unique_ptr<End>> ends;
    while (ends.size() < kThreads * kEach) {
      auto event = next(*server.cm);
      if (event.type != Type::kConnectRequest) continue;
      ends.push_back(std::make_unique<End>(*rnic, 4096));
      ends.back()->post_recv(0, 4096);
      REQUIRE_FALSE(event.request->accept(*ends.back()->qp));
      // Sends the received message back.
      const auto wc = ends.back()->completion();
      REQUIRE_FALSE(ends.back()->post(WrOpcode::kSend, 0, wc.byte_len));
      ends.back()->expect_success();
    }
  });
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        End end(*rnic, 8192, static_cast<unsigned>(t * kEach + i));
        end.post_recv(4096, 4096);
        REQUIRE_FALSE(rnic->connect(*end.qp, listener->local(), {}, *end.cm));
        expect(*end.cm, Type::kEstablished);
        REQUIRE_FALSE(end.post(WrOpcode::kSend, 0, 4096));
        end.expect_success();
        end.expect_success();
        CHECK(std::equal(end.buffer.begin(), end.buffer.begin() + 4096, end.buffer.begin() + 4096));
      }
    });
  }
}
