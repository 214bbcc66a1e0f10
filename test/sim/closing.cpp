// SPDX-License-Identifier: Apache-2.0
// Tests the end of a connection: orderly, by reset, or too slow. Also tests what the queue pair may
// do afterwards (verbs draft sections 6.2.2 to 6.2.5).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

void check_clean_close(Pair& pair) {
  for (End* end : {pair.a.get(), pair.b.get()}) {
    CHECK(end->qp->state() == QpState::kIdle);
    CHECK(count(*end, AsyncEventType::kLlpCloseComplete) == 1);
    CHECK(end->async.size() == 1);
    CHECK(saw(*end, ConnectionEventType::kDisconnected));
    CHECK(end->guards_intact());
  }
  CHECK_FALSE(pair.was_reset());
  CHECK_FALSE(pair.to_a.sent_after_fin);
  CHECK_FALSE(pair.to_b.sent_after_fin);
}

// Makes `pair.a` send its FIN. Nothing that the peer sends afterwards reaches `pair.a`.
void half_close(Pair& pair) {
  REQUIRE(!pair.a->qp->disconnect());
  pair.a->connection->transmit_plan(64, pair.a->now);
  CHECK(pair.a->connection->socket_action() == verbs::SocketAction::kShutdownSend);
  CHECK(pair.a->qp->state() == QpState::kClosing);
}

}  // namespace

TEST_CASE("either end may close, and both are Idle [VRB-18, DDP-59, DDP-60, RDMAP-88, RDMAP-90]") {
  for (const int who : {0, 1, 2}) {
    CAPTURE(who);
    Connected pair;
    Region* inbox = pair.a->memory(64, Access::kLocalWrite);
    post_recv(*pair.a, 10, sge(inbox, 0, 64));
    // The responder may send only after it has received a first FPDU. [MPA-93]
    let_responder_send(pair);
    if (who != 1) CHECK(!pair.a->qp->disconnect());
    if (who != 0) CHECK(!pair.b->qp->disconnect());
    pair.run();
    check_clean_close(pair);
    CHECK(text(pair.a->completions()) == "10 work request flushed");
    CHECK(pair.a->connection->socket_action() == verbs::SocketAction::kClose);
    CHECK_FALSE(pair.a->connection->timeout().has_value());
  }
}

TEST_CASE("a responder may close before it has heard anything") {
  Connected pair;
  CHECK(!pair.b->qp->disconnect());
  pair.run();
  check_clean_close(pair);
}

TEST_CASE("a close gives up if requests posted before it can never be sent") {
  Connected pair;
  Region* mine = pair.b->memory(100, kEverything);
  // This responder has never received an FPDU, so it must not send anything. [MPA-93]
  post_send(*pair.b, 1, sge(mine, 0, 100));
  CHECK(!pair.b->qp->disconnect());
  pair.run();
  const auto limit = ConnectionOptions{}.close_timeout;
  pair.advance(limit - 1ms);
  CHECK(pair.b->qp->state() == QpState::kRts);
  pair.advance(1ms);
  CHECK(pair.b->qp->state() == QpState::kError);
  CHECK(text(pair.b->completions()) == "1 work request flushed");
  CHECK(pair.was_reset());
}

TEST_CASE("requests posted before the close are sent first [DDP-56] [RDMAP-88]") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    auto [pair, mine, theirs] = Ready(100'000, {}, {}, {.seed = seed, .max_segment = 3000});
    Region* back = pair.a->memory(100'000, Access::kLocalWrite);
    fill_pattern(mine);
    post_write(*pair.a, 1, sge(mine, 0, 100'000), remote(theirs));
    post_read(*pair.a, 2, sge(back, 0, 100'000), remote(theirs));
    CHECK(!pair.a->qp->disconnect());
    pair.run();
    check_clean_close(pair);
    CHECK(text(pair.a->completions()) == "1 success, 2 success");
    CHECK(same(mine, theirs, 100'000));
    CHECK(same(mine, back, 100'000));
  }
}

TEST_CASE("a close by the peer while requests are outstanding ends in 2/0/01 [VRB-8, MPA-108]") {
  auto [pair, mine, theirs] = Ready(50'000, {}, {}, {.seed = 1, .max_segment = 500});
  post_read(*pair.a, 1, sge(mine, 0, 50'000), remote(theirs));
  for (int i = 0; i < 20; ++i) pair.step();
  pair.a->connection->peer_closed(pair.a->now);  // The FIN arrives in the middle of the response.
  CHECK(pair.a->qp->state() == QpState::kTerminate);
  CHECK(sent_code(*pair.a) == "2/0/01");
  pair.to_a.fin = pair.to_a.over = true;
  pair.run();
  CHECK(pair.a->qp->state() == QpState::kError);
  CHECK(text(pair.a->completions()) == "1 work request flushed");
  CHECK(received_code(*pair.b) == "2/0/01");
}

TEST_CASE("a Send that arrives after this end's FIN is still delivered [DDP-61]") {
  auto [pair, inbox, mine] = Ready(64);
  let_responder_send(pair);
  post_recv(*pair.a, 10, sge(inbox, 0, 64));
  half_close(pair);
  post_send(*pair.b, 1, sge(mine, 0, 8));
  carry(*pair.b, *pair.a);
  CHECK(text(pair.a->completions()) == "10 success");
  pair.b->connection->peer_closed(pair.b->now);
  pair.a->connection->peer_closed(pair.a->now);
  CHECK(pair.a->qp->state() == QpState::kIdle);
}

TEST_CASE("a message after this end's FIN that needs an answer is a bad close [VRB-17, VRB-16]") {
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    auto [pair, memory, mine] = Ready(64);
    let_responder_send(pair);
    half_close(pair);
    if (kind == 0) post_read(*pair.b, 1, sge(mine, 0, 8), remote(memory));
    if (kind == 1) post_send(*pair.b, 1, sge(mine, 0, 8));  // The peer has posted no receive.
    // This Write exceeds the bounds of the region.
    if (kind == 2) post_write(*pair.b, 1, sge(mine, 0, 8), remote(memory, 60));
    if (kind == 3) {  // The FIN arrives inside an FPDU.
      post_write(*pair.b, 1, sge(mine, 0, 8), remote(memory));
      REQUIRE(pair.to_a.send(10) == 10);
      REQUIRE(pair.to_a.deliver() == 10);
      pair.a->connection->peer_closed(pair.a->now);
    } else {
      carry(*pair.b, *pair.a);
    }
    CHECK(pair.a->qp->state() == QpState::kError);
    CHECK(count(*pair.a, AsyncEventType::kBadClose) == 1);
    CHECK(pair.a->connection->transmit_plan(64, pair.a->now).empty());
    CHECK(pair.a->connection->socket_action() == verbs::SocketAction::kReset);
    CHECK(saw(*pair.a, ConnectionEventType::kDisconnected));
    CHECK(all_zero(memory));
    CHECK(!pair.a->qp->reset());
    CHECK(pair.a->qp->state() == QpState::kIdle);
    pair.b->connection->lost(pair.b->now);
  }
}

TEST_CASE("a Terminate after this end's FIN leaves the queue pair reusable [VRB-16] [VRB-17]") {
  Connected pair;
  let_responder_send(pair);
  half_close(pair);
  CHECK(!pair.b->qp->terminate());
  carry(*pair.b, *pair.a);
  CHECK(received_code(*pair.a) == "0/0/00");
  CHECK(pair.a->qp->state() == QpState::kError);
  CHECK(count(*pair.a, AsyncEventType::kBadClose) == 1);
  pair.a->connection->peer_closed(pair.a->now);
  CHECK(!pair.a->qp->reset());
  pair.b->connection->lost(pair.b->now);
}

TEST_CASE("Sends posted while closing are flushed, not sent [VRB-13] [VRB-17] [DDP-57]") {
  Connected pair;
  Region* mine = pair.a->memory(64, kEverything);
  half_close(pair);
  const auto sent = pair.to_b.log.size();
  post_send(*pair.a, 5, sge(mine, 0, 8));
  CHECK(pair.a->qp->disconnect() == verbs::Errc::kWrongState);
  pair.run();
  CHECK(pair.to_b.log.size() == sent);
  pair.b->connection->peer_closed(pair.b->now);
  pair.a->connection->peer_closed(pair.a->now);
  CHECK(text(pair.a->completions()) == "5 work request flushed");
}

TEST_CASE("a peer that never closes its direction is reset at the close timeout [VRB-12, VRB-17]") {
  for (const bool terminate : {false, true}) {
    CAPTURE(terminate);
    const ConnectionOptions options{.close_timeout = 3s};
    Connected pair(options, {});
    if (terminate) {
      CHECK(!pair.a->qp->terminate());
      pair.a->connection->transmit_plan(64, pair.a->now);
    } else {
      half_close(pair);
    }
    auto& connection = *pair.a->connection;
    CHECK(connection.timeout() == pair.a->now + 3s);
    connection.handle_timeout(pair.a->now + 3s - 1ns);
    CHECK(pair.a->qp->state() == (terminate ? QpState::kTerminate : QpState::kClosing));
    connection.handle_timeout(pair.a->now + 3s);
    CHECK(pair.a->qp->state() == QpState::kError);
    CHECK(connection.socket_action() == verbs::SocketAction::kReset);
    CHECK_FALSE(connection.timeout().has_value());
    CHECK(count(*pair.a, AsyncEventType::kBadClose) == (terminate ? 0U : 1U));
  }
}

TEST_CASE("abort resets the connection and flushes everything at both ends [VRB-11]") {
  auto [pair, mine, theirs] = Ready(50'000, {}, {}, {.seed = 3, .max_segment = 400});
  Region* inbox = pair.b->memory(8, kEverything);
  post_recv(*pair.b, 10, sge(inbox, 0, 8));
  post_write(*pair.a, 1, sge(mine, 0, 50'000), remote(theirs));
  for (int i = 0; i < 10; ++i) pair.step();
  CHECK(!pair.a->qp->abort());
  pair.run();
  CHECK(pair.was_reset());
  for (End* end : {pair.a.get(), pair.b.get()}) {
    CHECK(end->qp->state() == QpState::kError);
    CHECK(count(*end, AsyncEventType::kLlpConnectionLost) == 1);
    CHECK(end->guards_intact());
  }
  CHECK(text(pair.a->completions()) == "1 work request flushed");
  CHECK(text(pair.b->completions()) == "10 work request flushed");
  // In Error, a posted request is flushed immediately. After a reset of the queue pair, posted
  // requests wait for a connection again.
  post_send(*pair.a, 2, sge(mine, 0, 8));
  CHECK(text(pair.a->completions()) == "2 work request flushed");
  CHECK(!pair.a->qp->reset());
  post_send(*pair.a, 3, sge(mine, 0, 8));
  CHECK(pair.a->completions().empty());
}

TEST_CASE("the same queue pairs connect again, and number messages from 1 again [VRB-7]") {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    if (round != 0) pair.renew({}, {});
    REQUIRE(pair.establish());
    const auto [mine, inbox] = regions(pair, 64);
    fill_pattern(mine);
    post_recv(*pair.b, 10, sge(inbox, 0, 64));
    post_send(*pair.a, 1, sge(mine, 0, 64));
    CHECK(completed(pair) == "1 success");
    CHECK(text(pair.b->completions()) == "10 success");
    CHECK(same(mine, inbox, 64));
    // The log contains the Request, then ULPDU_Length, then the DDP header. Octets 10 to 13 of the
    // DDP header are the MSN.
    const std::size_t msn = kEnhancedFrame + 2 + 10;
    CHECK(pair.to_b.log[msn + 3] == std::byte{1});
    CHECK(!pair.a->qp->disconnect());
    pair.run();
    CHECK(are_both_in(pair, QpState::kIdle));
  }
}

TEST_CASE("a send queue full of unsignaled requests is empty after a reset [VRB-16, VRB-42]") {
  for (const bool in_order : {true, false}) {
    CAPTURE(in_order);
    auto [pair, mine, theirs] = Ready(64, {}, {}, {}, {.limits = {.max_send_wr = 3}});
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
    for (std::uint64_t id = 2; id <= 3; ++id) {
      post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs), SendFlags::kNone);
    }
    pair.run();
    CHECK(!(in_order ? pair.a->qp->disconnect() : pair.a->qp->abort()));
    pair.run();
    CHECK(!pair.a->qp->reset());
    CHECK(!pair.b->qp->reset());
    pair.renew({}, {});
    for (std::uint64_t id = 4; id <= 6; ++id) {
      post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs));
    }
    REQUIRE(pair.establish());
    // Polling the flushed completion of the first connection must not free the slot of another
    // request.
    CHECK(text(pair.a->completions()) == "1 success, 4 success, 5 success, 6 success");
    for (std::uint64_t id = 7; id <= 9; ++id) {
      post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs));
    }
    const Sge from = sge(mine, 0, 8);
    CHECK(pair.a->qp->post_send({.opcode = WrOpcode::kWrite, .sgl = {&from, 1}}) ==
          verbs::Errc::kQueueFull);
  }
}
