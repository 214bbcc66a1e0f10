// SPDX-License-Identifier: Apache-2.0
// Tests ConnectionOptions::first_fpdu_delay, which makes an initiator wait between the Reply and
// its first FPDU. Also tests what the connection must do during that delay.
#include "iwarp/rdmap/faults.hpp"
#include "support.hpp"

namespace iwarp::test {
namespace {

ConnectionOptions with_time(mpa::Rtr rtr = mpa::Rtr::kNone) {
  return with_rtr(rtr, {.first_fpdu_delay = 100ms});
}

TEST_CASE("an initiator with the option sends nothing after the Reply until the delay has passed") {
  Connected pair(with_time());
  // The program may post requests now.
  CHECK(pair.a->event() == ConnectionEventType::kEstablished);
  const auto [source, sink] = regions(pair, 1000);
  fill_pattern(source);
  post_write(*pair.a, 1, sge(source, 0, 1000), remote(sink));
  pair.run();
  CHECK(pair.to_b.log.size() == kEnhancedFrame);
  CHECK(pair.a->connection->timeout() == TimePoint{} + 100ms);
  pair.advance(99ms);
  CHECK(pair.to_b.log.size() == kEnhancedFrame);
  CHECK(pair.a->completions().empty());
  pair.advance(1ms);
  CHECK(text(pair.a->completions()) == "1 success");
  CHECK(same(source, sink, 1000));
  CHECK_FALSE(pair.a->connection->timeout());
}

TEST_CASE("without a delay there is no timer, and a responder never has one") {
  Connected pair({}, with_time());
  CHECK_FALSE(pair.a->connection->timeout());
  CHECK_FALSE(pair.b->connection->timeout());
  const auto [source, sink] = regions(pair, 8);
  post_write(*pair.a, 1, sge(source, 0, 8), remote(sink));
  post_read(*pair.b, 2, sge(sink, 0, 8), remote(source));
  CHECK(completed(pair) == "1 success");
  CHECK(text(pair.b->completions()) == "2 success");
}

TEST_CASE("an RTR waits too, and is still the first FPDU [EMPA-38]") {
  for (const auto rtr : {mpa::Rtr::kWrite, mpa::Rtr::kRead, mpa::Rtr::kSend}) {
    Connected pair(with_time(rtr));
    CHECK_FALSE(saw(*pair.b, ConnectionEventType::kEstablished));
    CHECK(pair.to_b.log.size() == kEnhancedFrame);
    pair.advance(100ms);
    CHECK(pair.to_b.log.size() > kEnhancedFrame);
    CHECK(saw(*pair.b, ConnectionEventType::kEstablished));
    CHECK(pair.b->completions().empty());
  }
}

TEST_CASE("a close that is requested during the delay follows the RTR") {
  Connected pair(with_time(mpa::Rtr::kWrite));
  pair.a->connection->disconnect(pair.a->now);
  pair.run();
  CHECK_FALSE(pair.to_b.fin);
  CHECK(pair.to_b.log.size() == kEnhancedFrame);
  pair.advance(100ms);
  CHECK(pair.to_b.log.size() > kEnhancedFrame);
  CHECK(saw(*pair.b, ConnectionEventType::kEstablished));
  CHECK(are_both_in(pair, QpState::kIdle));
  CHECK_FALSE(pair.was_reset());
}

TEST_CASE("a Terminate that is requested during the delay is sent after it [VRB-9]") {
  Connected pair(with_time());
  pair.a->connection->terminate(rdmap::kLocalCatastrophic, pair.a->now);
  pair.run();
  CHECK(pair.to_b.log.size() == kEnhancedFrame);
  pair.advance(100ms);
  CHECK(received_code(*pair.b) == "0/0/00");
  CHECK(are_both_in(pair, QpState::kError));
  CHECK_FALSE(pair.was_reset());
}

TEST_CASE("a Terminate that refuses the Reply is also sent after the delay [EMPA-24]") {
  auto options = with_time();
  options.startup.ird = options.startup.max_ird = 1;
  Pair pair(options);
  REQUIRE(pair.a->connection->connect({}, pair.a->now));
  pair.run();
  // Delivers to `a` a Reply whose ORD exceeds the IRD of the Request. This stack never sends such a
  // Reply.
  pair.to_a.lose();
  std::array<std::byte, 24> reply{};
  bytes::Writer out(reply);
  std::array<std::byte, 4> word{};
  bytes::store_be(word.data(), mpa::encode(mpa::EnhancedWord{.ird = 1, .ord = 9}));
  mpa::encode({.kind = mpa::FrameKind::kReply,
               .enhanced = true,
               .revision = 2,
               .private_data = bytes::View(word)},
              out);
  REQUIRE(pair.a->receive(reply) == reply.size());
  CHECK(saw(*pair.a, ConnectionEventType::kFailed));
  CHECK(pair.a->connection->transmit_plan(1, pair.a->now).empty());
  pair.now += 100ms;
  pair.a->connection->handle_timeout(pair.a->now);
  CHECK_FALSE(pair.a->connection->transmit_plan(1, pair.a->now).empty());
}

TEST_CASE("a connection that is lost during the delay is closed, and no timer remains") {
  Connected pair(with_time());
  Region* source = pair.a->memory(8, kEverything);
  post_send(*pair.a, 1, sge(source, 0, 8));
  pair.run();
  pair.a->connection->lost(pair.a->now);
  CHECK(text(pair.a->completions()) == "1 work request flushed");
  CHECK_FALSE(pair.a->connection->timeout());
  CHECK(pair.a->qp->state() == QpState::kError);
}

TEST_CASE("a peer that closes during the delay is answered after it") {
  Connected pair(with_time());
  pair.b->connection->disconnect(pair.b->now);
  pair.run();
  CHECK(pair.to_a.fin);
  CHECK_FALSE(pair.to_b.fin);
  pair.advance(100ms);
  CHECK(pair.to_b.fin);
  CHECK(pair.to_b.log.size() == kEnhancedFrame);
  CHECK(are_both_in(pair, QpState::kIdle));
}

}  // namespace
}  // namespace iwarp::test
