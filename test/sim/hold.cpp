// SPDX-License-Identifier: Apache-2.0
// Tests Sends that arrive while no receive is posted: such a Send may hold the stream for a limited
// time instead of terminating it.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

TEST_CASE("nothing overtakes a Send that waits for a receive, except answers [DDP-69]") {
  for (const std::size_t size : {std::size_t{10}, std::size_t{60'000}}) {
    for (const bool crc : {true, false}) {
      ConnectionOptions options = holding(5s);
      options.startup.crc = crc;
      options.max_ulpdu = 64768;
      auto [pair, mine, inbox] = Ready(size, options, options, {.seed = 2, .max_segment = 30'000});
      Region* target = pair.b->memory(8, kEverything);
      fill_pattern(mine);
      post_write(*pair.a, 1, sge(mine, 0, 0), {}, SendFlags::kNone);
      post_send(*pair.a, 2, sge(mine, 0, size));
      post_write(*pair.a, 3, sge(mine, 0, 8), remote(target));
      pair.run();
      CHECK(pair.b->connection->is_held());
      CHECK(pair.b->qp->state() == QpState::kRts);
      CHECK(all_zero(target));  // the Write does not overtake the Send
      pair.advance(5s - 1ns);
      CHECK(pair.b->qp->state() == QpState::kRts);
      post_recv(*pair.b, 10, sge(inbox, 0, size));
      CHECK(completed(pair, *pair.b) == "10 success");
      CHECK(same(mine, inbox, size));
      CHECK(same(mine, target, 8));
      CHECK_FALSE(pair.b->connection->timeout().has_value());
      CHECK(pair.b->connection->incidents().receive_holds == 1);
      pair.advance(10s);
      CHECK(pair.b->qp->state() == QpState::kRts);
    }
  }
}

TEST_CASE("a message that has waited two seconds is reported, once for each connection") {
  auto [pair, mine, inbox] = Ready(64, {}, holding(verbs::PeerTimeouts::kForEver));
  for (int i = 0; i < 2; ++i) {
    post_send(*pair.a, 1, sge(mine, 0, 10));
    pair.run();
    pair.advance(2s - 1ns);
    CHECK(count(*pair.b, AsyncEventType::kReceiveOverdue) == (i == 0 ? 0 : 1));
    pair.advance(1ns);
    CHECK(count(*pair.b, AsyncEventType::kReceiveOverdue) == 1);
    CHECK_FALSE(pair.b->connection->timeout().has_value());
    post_recv(*pair.b, 10, sge(inbox, 0, 64));
    CHECK(completed(pair, *pair.b) == "10 success");
  }
}

TEST_CASE("a stream held for too long ends in 1/2/02, exactly at the limit [DDP-68] [DDP-69]") {
  Connected pair({}, holding(5s));
  Region* mine = pair.a->memory(64, kEverything);
  post_send(*pair.a, 1, sge(mine, 0, 10));
  pair.run();
  CHECK(pair.b->connection->timeout() == pair.b->now + 2s);  // reports the wait first
  pair.advance(5s - 1ns);
  CHECK(pair.b->qp->state() == QpState::kRts);
  pair.advance(1ns);
  check_refused(pair, *pair.b, "1/2/02");
  CHECK(pair.b->connection->incidents().terminate_sent == ddp::kUntaggedNoBuffer);
  CHECK(pair.a->connection->incidents().terminate_received == ddp::kUntaggedNoBuffer);
  const auto echo = pair.b->qp->query().terminate_sent->segment.value();
  CHECK(echo.ddp_header_size == 18);
}

TEST_CASE("a reset, or a Terminate by the program, releases a held stream") {
  for (const bool reset : {true, false}) {
    CAPTURE(reset);
    Connected pair({}, holding(5s));
    Region* mine = pair.a->memory(64, kEverything);
    post_send(*pair.a, 1, sge(mine, 0, 10));
    pair.run();
    REQUIRE(pair.b->connection->is_held());
    if (reset) pair.b->connection->lost(pair.b->now);
    if (!reset) CHECK(!pair.b->qp->terminate());
    CHECK(pair.b->qp->state() == (reset ? QpState::kError : QpState::kTerminate));
    pair.run();
    pair.advance(20s);
    CHECK(pair.b->qp->state() == QpState::kError);
  }
}

TEST_CASE("a FIN waits with the message before it") {
  auto [pair, mine, inbox] = Ready(64, {}, holding(5s));
  for (std::uint64_t id = 1; id < 3; ++id) post_send(*pair.a, id, sge(mine, 0, 10));
  pair.run();
  CHECK(!pair.a->qp->disconnect());
  pair.run();
  CHECK(pair.b->connection->receive_plan().empty());
  for (std::uint64_t id = 1; id < 3; ++id) {
    CHECK(pair.b->qp->state() == QpState::kRts);
    post_recv(*pair.b, id, sge(inbox, 0, 64));
    CHECK(completed(pair, *pair.b) == std::to_string(id) + " success");
  }
  CHECK(are_both_in(pair, QpState::kIdle));
}

TEST_CASE("behind a held Send, no more octets are read than the staging area has room for") {
  constexpr std::size_t kSize = 64 * 1024;
  ConnectionOptions options = holding(5s);
  options.stage = 256 * 1024;
  auto [pair, mine, inbox] = Ready(kSize, {}, options);
  fill_pattern(mine);
  for (std::uint64_t id = 0; id < 16; ++id) post_send(*pair.a, id, sge(mine, 0, kSize));
  pair.run();
  CHECK(pair.b->connection->receive_plan().empty());
  CHECK(pair.to_b.arrived > 200 * 1024);
  CHECK(pair.to_b.arrived < 300 * 1024);
  for (std::uint64_t id = 0; id < 16; ++id) {
    post_recv(*pair.b, id, sge(inbox, 0, kSize));
    CHECK(completed(pair, *pair.b) == std::to_string(id) + " success");
    CHECK(has_pattern(inbox));
    reuse(inbox);
  }
  CHECK(pair.b->connection->incidents().receive_holds == 16);
}
