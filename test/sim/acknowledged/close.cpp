// SPDX-License-Identifier: Apache-2.0
// Tests closing a connection with acknowledged completions. The closing end first acknowledges what
// it has received, because it can no longer answer after its FIN (RFC 5040 section 4.8, RFC 5041
// section 6.2).
#include "acknowledged.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT
using namespace std::chrono_literals;

namespace {

/// Two Sends from `a` have arrived at `b`. `b` has answered the acknowledgement request for the
/// first one, but the answer has not reached `a` yet, so `a` has not requested an acknowledgement
/// of the second one.
struct Asked {
  explicit Asked(const ConnectionOptions& of_b = acknowledged()) : pair(acknowledged(), of_b) {
    REQUIRE(pair.establish());
    mine = pair.a->memory(64, kEverything);
    Region* const theirs = pair.b->memory(64, kEverything);
    for (const std::uint64_t id : {10U, 11U}) post_recv(*pair.b, id, sge(theirs, 0, 64));
    post_send(*pair.a, 1, sge(mine, 0, 8));
    carry(*pair.a, *pair.b);
    post_send(*pair.a, 2, sge(mine, 0, 8));
    carry(*pair.a, *pair.b);
    CHECK(text(pair.b->completions()) == "10 success, 11 success");
  }
  Pair pair;
  Region* mine = nullptr;
};

}  // namespace

TEST_CASE(
    "an end that closes waits for the Read that requests acknowledgement of what it has received, "
    "also if the peer's thread is not scheduled for a tenth of a second [VRB-8] [VRB-17]") {
  for (const auto late : {0ms, 100ms}) {
    Asked asked;
    Pair& pair = asked.pair;
    REQUIRE(!pair.b->qp->disconnect());
    if (late != 0ms) pair.advance(late);
    CHECK(completed(pair) == "1 success, 2 success");
    CHECK(pair.a->qp->state() == QpState::kIdle);
    CHECK(pair.b->qp->state() == QpState::kIdle);
  }
}

TEST_CASE(
    "the closing end does not wait for long for a peer that sends no acknowledgement request") {
  Asked asked;
  Pair& pair = asked.pair;
  carry(*pair.b, *pair.a);  // Carries `b`'s answer to the first acknowledgement request.
  carry(*pair.a, *pair.b);
  post_send(*pair.a, 3, sge(asked.mine, 0, 0), SendFlags::kNone);
  Region* const inbox = pair.b->memory(64, kEverything);
  post_recv(*pair.b, 12, sge(inbox, 0, 64));
  pair.run();
  REQUIRE(!pair.b->qp->disconnect());
  pair.run();
  const auto limit = ConnectionOptions{}.ack_request_wait;
  pair.advance(limit - 1ms);
  CHECK(pair.b->qp->state() == QpState::kRts);
  pair.advance(1ms);
  CHECK(pair.a->qp->state() == QpState::kIdle);
  CHECK(pair.b->qp->state() == QpState::kIdle);
  CHECK(text(pair.a->completions()) == "1 success, 2 success");
}

TEST_CASE("an end that has nothing to acknowledge closes at once") {
  Asked asked;
  Pair& pair = asked.pair;
  pair.run();
  REQUIRE(!pair.b->qp->disconnect());
  pair.run();
  CHECK(pair.a->qp->state() == QpState::kIdle);
  CHECK(pair.b->qp->state() == QpState::kIdle);
}

// For example, a server has received only RTRs if it destroys its queue pairs before its clients
// have sent a message.
TEST_CASE("an end that has received only an RTR closes at once [EMPA-38]") {
  for (const auto rtr : {mpa::Rtr::kWrite, mpa::Rtr::kRead, mpa::Rtr::kSend}) {
    CAPTURE(static_cast<int>(rtr));
    auto options = acknowledged();
    options.startup.rtr = rtr;
    Connected pair(options, options);
    CHECK_FALSE(pair.b->connection->awaits_ack_request(pair.b->now));
    REQUIRE(!pair.b->qp->disconnect());
    pair.run();
    CHECK(pair.a->qp->state() == QpState::kIdle);
    CHECK(pair.b->qp->state() == QpState::kIdle);
  }
}

TEST_CASE(
    "a FIN instead of the answer fails the oldest request that the answer would acknowledge") {
  // The completions of `b` follow RFC 5040, so `b` does not wait for acknowledgement requests when
  // it closes.
  Asked asked(ConnectionOptions{});
  Pair& pair = asked.pair;
  REQUIRE(!pair.b->qp->disconnect());
  pair.b->connection->transmit_plan(64, pair.b->now);
  carry(*pair.b, *pair.a);
  pair.a->connection->peer_closed(pair.a->now);
  CHECK(text(pair.a->completions()) == "1 success, 2 no answer");
}
