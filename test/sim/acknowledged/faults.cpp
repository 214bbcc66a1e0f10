// SPDX-License-Identifier: Apache-2.0
// Tests acknowledged completions when the peer refuses a request or does not answer. The refused
// request fails, earlier requests that the peer has placed succeed, and later requests are flushed.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

TEST_CASE("the refused segment identifies its Write, also if unsignaled or in its middle") {
  ConnectionOptions options = acknowledged();
  options.max_ulpdu = 128;
  Connected pair(options, {});
  const auto [mine, theirs] = regions(pair, 5000, 4999);
  post_write(*pair.a, 1, sge(mine, 0, 100), remote(theirs), SendFlags::kNone);
  post_write(*pair.a, 2, sge(mine, 0, 5000), remote(theirs), SendFlags::kNone);
  post_write(*pair.a, 3, sge(mine, 0, 100), remote(theirs));
  CHECK(completed(pair) == "2 remote access error, 3 work request flushed");
}

TEST_CASE("a Send without a receive fails, identified by its MSN [DDP-31] [RDMAP-20]") {
  for (const auto rtr : {mpa::Rtr::kNone, mpa::Rtr::kWrite, mpa::Rtr::kRead, mpa::Rtr::kSend}) {
    CAPTURE(static_cast<int>(rtr));
    auto [pair, mine, theirs] = Ready(64, with_rtr(rtr, acknowledged()), {});
    for (const std::uint64_t id : {10U, 11U, 12U}) post_recv(*pair.b, id, sge(theirs, 0, 64));
    post_send(*pair.a, 1, sge(mine, 0, 8));
    post_write_immediate(*pair.a, 2, sge(mine, 0, 8), remote(theirs), 5);
    post_send(*pair.a, 3, sge(mine, 0, 8));
    post_write(*pair.a, 4, sge(mine, 0, 8), remote(theirs));
    post_send(*pair.a, 5, sge(mine, 0, 8));
    post_send(*pair.a, 6, sge(mine, 0, 8));
    CHECK(completed(pair) ==
          "1 success, 2 success, 3 success, 4 success, 5 receiver not ready, "
          "6 work request flushed");
    CHECK(pair.b->completions().size() == 3);
  }
}

TEST_CASE("with an IRD of 0 an end answers empty Reads, and refuses all other Reads and atomics") {
  for (const auto& options : {acknowledged(), ConnectionOptions{}, with_rtr(mpa::Rtr::kRead)}) {
    for (const bool atomic : {true, false}) {
      Pair pair(options, options);
      REQUIRE(pair.establish(0, 16));
      CHECK(pair.a->qp->query().ird == 16);
      CHECK(pair.b->qp->query().ird == 0);
      const auto [mine, theirs] = regions(pair, 64);
      post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
      CHECK(completed(pair) == "1 success");
      post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
      post_answered(*pair.a, atomic, 3, sge(mine, 0, 8), remote(theirs));
      post_write(*pair.a, 4, sge(mine, 0, 8), remote(theirs));
      CHECK(completed(pair) == "2 success, 3 remote invalid request, 4 work request flushed");
    }
  }
}

// The MSN in the Terminate also counts the Reads with which this stack requests acknowledgements,
// and the Read that serves as RTR.
TEST_CASE("of several Reads and atomics, the one the Terminate names fails [VRB-54] [EXT-61]") {
  for (const auto& options : {ConnectionOptions{}, acknowledged()}) {
    for (const auto& [rtr, atomic_fails] :
         {std::pair{mpa::Rtr::kWrite, true}, std::pair{mpa::Rtr::kWrite, false},
          std::pair{mpa::Rtr::kRead, true}, std::pair{mpa::Rtr::kRead, false}}) {
      INFO("completions ", static_cast<int>(options.completions), ", rtr ", static_cast<int>(rtr),
           ", atomic fails ", atomic_fails);
      auto [pair, mine, theirs] = Ready(64, with_rtr(rtr, options), {});
      const auto ask = [&, atomic = atomic_fails](std::uint64_t id, std::size_t at) {
        post_answered(*pair.a, atomic, id, sge(mine, 0, 8), remote(theirs, at));
      };
      post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
      pair.run();  // `a` sends a Read to request an acknowledgement.
      ask(2, 0);
      pair.run();
      ask(3, 8);
      post_write(*pair.a, 4, sge(mine, 0, 8), remote(theirs));
      ask(5, 64);
      ask(6, 16);
      CHECK(completed(pair) ==
            "1 success, 2 success, 3 success, 4 success, 5 remote access error, "
            "6 work request flushed");
    }
  }
}

TEST_CASE("if the peer's Terminate names no request, the oldest request fails") {
  Connected pair(acknowledged(), holding(60s));
  Region* mine = pair.a->memory(64, kEverything);
  post_send(*pair.a, 1, sge(mine, 0, 8));
  post_send(*pair.a, 2, sge(mine, 0, 8));
  pair.run();
  CHECK(!pair.b->qp->terminate());
  CHECK(completed(pair) == "1 remote operation error, 2 work request flushed");
}

TEST_CASE("if the peer is gone, the oldest unacknowledged request fails") {
  for (const bool reset : {true, false}) {
    auto [pair, mine, theirs] = Ready(64, acknowledged(), holding(60s));
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
    pair.run();
    post_send(*pair.a, 2, sge(mine, 0, 8), SendFlags::kNone);
    post_write(*pair.a, 3, sge(mine, 0, 8), remote(theirs));
    pair.run();
    if (reset) {
      pair.a->connection->lost(pair.a->now);
    } else {
      pair.a->connection->peer_closed(pair.a->now);
    }
    CHECK(text(pair.a->completions()) == "1 success, 2 no answer, 3 work request flushed");
  }
}

TEST_CASE("a local abort flushes all requests, and none fails") {
  Connected pair(acknowledged(), holding(60s));
  Region* mine = pair.a->memory(64, kEverything);
  post_send(*pair.a, 1, sge(mine, 0, 8));
  pair.run();
  CHECK(!pair.a->qp->abort());
  CHECK(text(pair.a->completions()) == "1 work request flushed");
}

TEST_CASE("unsignaled requests are not waited for, so none fails when the peer disconnects") {
  auto [pair, mine, theirs] = Ready(64, acknowledged(), {});
  post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs), SendFlags::kNone);
  pair.run();
  pair.a->connection->lost(pair.a->now);
  CHECK(pair.a->completions().empty());
}

TEST_CASE("a peer that sends and acknowledges nothing is given up at the timeout, not before") {
  Connected pair(acknowledged(), holding(60s));
  pair.a->qp->set_peer_timeouts({.answer = 2s});
  CHECK_FALSE(pair.a->connection->timeout().has_value());
  Region* mine = pair.a->memory(64, kEverything);
  pair.advance(10s);
  post_send(*pair.a, 1, sge(mine, 0, 8));
  post_send(*pair.a, 2, sge(mine, 0, 8));
  pair.run();
  REQUIRE(pair.a->connection->timeout() == pair.a->now + 2s);
  pair.advance(2s - 1ns);
  pair.a->connection->note_peer_seen(pair.a->now);  // The peer's TCP has acknowledged data.
  pair.advance(2s - 1ns);
  CHECK(pair.a->completions().empty());
  pair.advance(1ns);
  CHECK(text(pair.a->completions()) == "1 no answer, 2 work request flushed");
  CHECK(pair.was_reset());
}

TEST_CASE("the receiver's limit holds the stream for a time, not at all, or for ever [DDP-68]") {
  auto [pair, mine, inbox] = Ready(64, acknowledged(), acknowledged());
  SUBCASE("for a time") {
    pair.b->qp->set_peer_timeouts({.receive_hold = 3s});
    post_send(*pair.a, 1, sge(mine, 0, 8));
    pair.run();
    pair.advance(3s - 1ns);
    CHECK(pair.a->completions().empty());
    pair.advance(1ns);
    CHECK(text(pair.a->completions()) == "1 receiver not ready");
  }
  SUBCASE("not at all") {
    pair.b->qp->set_peer_timeouts({.receive_hold = 0s});
    post_send(*pair.a, 1, sge(mine, 0, 8));
    CHECK(completed(pair) == "1 receiver not ready");
  }
  SUBCASE("for ever") {
    pair.b->qp->set_peer_timeouts({.receive_hold = verbs::PeerTimeouts::kForEver});
    post_send(*pair.a, 1, sge(mine, 0, 8));
    pair.run();
    pair.advance(1000h);
    CHECK_FALSE(pair.b->connection->timeout().has_value());
    post_recv(*pair.b, 10, sge(inbox, 0, 64));
    CHECK(completed(pair) == "1 success");
  }
}

TEST_CASE("requests before an acknowledging Read that lacks IRD have arrived [RDMAP-84]") {
  ConnectionOptions options = acknowledged(1);
  options.startup.revision = 1;  // MPA revision 1 does not negotiate IRD.
  Pair pair(options, {});
  REQUIRE(pair.establish(0, 0));
  const auto [mine, theirs] = regions(pair, 64);
  post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
  post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
  check_refused(pair, *pair.b, "1/2/02");
  CHECK(text(pair.a->completions()) == "1 success, 2 work request flushed");
}
