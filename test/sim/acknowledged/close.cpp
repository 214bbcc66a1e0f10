// SPDX-License-Identifier: Apache-2.0
// Tests closing a connection with acknowledged completions. The closing end first acknowledges what
// it has received, because it can no longer answer after its FIN (RFC 5040 section 4.8, RFC 5041
// section 6.2).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT
using namespace std::chrono_literals;

namespace {

/// Two Sends from `a` have arrived at `b`. `b` has answered the acknowledgement request for the
/// first one, but the answer has not reached `a` yet, so `a` has not requested an acknowledgement
/// of the second one.
struct Asked : Connected {
  explicit Asked(const ConnectionOptions& of_b = acknowledged()) : Connected(acknowledged(), of_b) {
    Region* const theirs = b->memory(64, kEverything);
    for (const std::uint64_t id : {10U, 11U}) post_recv(*b, id, sge(theirs, 0, 64));
    for (const std::uint64_t id : {1U, 2U}) {
      post_send(*a, id, sge(mine, 0, 8));
      carry(*a, *b);
    }
    CHECK(text(b->completions()) == "10 success, 11 success");
  }
  Region* const mine = a->memory(64, kEverything);
};

}  // namespace

TEST_CASE(
    "an end that closes waits for the Read that requests acknowledgement of what it has received, "
    "also if the peer's thread is not scheduled for a tenth of a second [VRB-8] [VRB-17]") {
  for (const auto late : {0ms, 100ms}) {
    Asked pair;
    REQUIRE(!pair.b->qp->disconnect());
    if (late != 0ms) pair.advance(late);
    CHECK(completed(pair) == "1 success, 2 success");
    CHECK(are_both_in(pair, QpState::kIdle));
  }
}

TEST_CASE("the closing end does not wait long for a peer that sends no acknowledgement request") {
  Asked pair;
  carry(*pair.b, *pair.a);  // Carries `b`'s answer to the first acknowledgement request.
  carry(*pair.a, *pair.b);
  post_send(*pair.a, 3, sge(pair.mine, 0, 0), SendFlags::kNone);
  Region* const inbox = pair.b->memory(64, kEverything);
  post_recv(*pair.b, 12, sge(inbox, 0, 64));
  pair.run();
  REQUIRE(!pair.b->qp->disconnect());
  pair.run();
  const auto limit = ConnectionOptions{}.ack_request_wait;
  pair.advance(limit - 1ms);
  CHECK(pair.b->qp->state() == QpState::kRts);
  pair.advance(1ms);
  CHECK(are_both_in(pair, QpState::kIdle));
  CHECK(text(pair.a->completions()) == "1 success, 2 success");
}

TEST_CASE("an end that has nothing to acknowledge closes at once") {
  Asked pair;
  pair.run();
  REQUIRE(!pair.b->qp->disconnect());
  pair.run();
  CHECK(are_both_in(pair, QpState::kIdle));
}

// For example, a server has received only RTRs if it destroys its queue pairs before its clients
// have sent a message.
TEST_CASE("an end that has received only an RTR closes at once [EMPA-38]") {
  for (const auto rtr : {mpa::Rtr::kWrite, mpa::Rtr::kRead, mpa::Rtr::kSend}) {
    CAPTURE(static_cast<int>(rtr));
    const auto options = with_rtr(rtr, acknowledged());
    Connected pair(options, options);
    CHECK_FALSE(pair.b->connection->awaits_ack_request(pair.b->now));
    REQUIRE(!pair.b->qp->disconnect());
    pair.run();
    CHECK(are_both_in(pair, QpState::kIdle));
  }
}

TEST_CASE("a FIN instead of the answer fails the oldest request that it would acknowledge") {
  // The completions of `b` follow RFC 5040, so `b` does not wait for acknowledgement requests when
  // it closes.
  Asked pair(ConnectionOptions{});
  REQUIRE(!pair.b->qp->disconnect());
  pair.b->connection->transmit_plan(64, pair.b->now);
  carry(*pair.b, *pair.a);
  pair.a->connection->peer_closed(pair.a->now);
  CHECK(text(pair.a->completions()) == "1 success, 2 no answer");
}
