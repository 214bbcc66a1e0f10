// SPDX-License-Identifier: Apache-2.0
// Tests a send queue that does not start new requests (InfiniBand's state SQD), and the report of
// the first message (state RTR).
#include "iwarp/verbs/queue_pair_port.hpp"
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

std::size_t drained(const End& end) { return count(end, AsyncEventType::kSendsDrained); }

}  // namespace

TEST_CASE("held requests wait, and those before them complete") {
  for (const auto completions : {verbs::Completions::kSent, verbs::Completions::kAcknowledged}) {
    for (const bool reports : {true, false}) {
      const ConnectionOptions options{.completions = completions};
      auto [pair, mine, theirs] = Ready(64, options, options);
      post_read(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
      verbs::hold_sends(*pair.a->qp, reports);
      CHECK(drained(*pair.a) == 0);
      post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
      post_write(*pair.a, 3, sge(mine, 8, 8), remote(theirs));
      fill_pattern(mine);
      CHECK(completed(pair) == "1 success");
      CHECK(drained(*pair.a) == (reports ? 1U : 0U));
      CHECK(all_zero(theirs));
      post_write(*pair.b, 4, sge(theirs, 0, 8), remote(mine));  // the other direction goes on
      CHECK(completed(pair, *pair.b) == "4 success");
      verbs::release_sends(*pair.a->qp);
      CHECK(completed(pair) == "2 success, 3 success");
      pair.run();
      CHECK(drained(*pair.a) == (reports ? 1U : 0U));
    }
  }
}

TEST_CASE("held requests are flushed if the connection ends") {
  for (const bool aborts : {true, false}) {
    auto [pair, mine, theirs] = Ready(64);
    verbs::hold_sends(*pair.a->qp, false);
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
    REQUIRE(!(aborts ? pair.a : pair.b)->qp->abort());
    CHECK(completed(pair) == "1 work request flushed");
    post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
    CHECK(completed(pair) == "2 work request flushed");
  }
}

TEST_CASE("a send queue may be held before it is connected, and holds no more than its size") {
  Pair pair;
  verbs::hold_sends(*pair.a->qp, true);
  CHECK(drained(*pair.a) == 1);
  const auto most = pair.a->qp->init().limits.max_send_wr;
  for (std::size_t i = 0; i < most; ++i) {
    CHECK(!pair.a->qp->post_send({.wr_id = i, .flags = SendFlags::kSignaled}));
  }
  CHECK(pair.a->qp->post_send({.wr_id = most}) == verbs::Errc::kQueueFull);
  REQUIRE(!pair.a->qp->abort());
  CHECK(pair.a->completions().size() == most);
}

TEST_CASE("a failed request ends a held connection, and nothing is drained") {
  auto [pair, mine, theirs] = Ready(64);
  post_read(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
  post_write(*pair.a, 2, wrong_key(sge(mine, 0, 8)), remote(theirs));
  verbs::hold_sends(*pair.a->qp, true);
  post_write(*pair.a, 3, sge(mine, 0, 8), remote(theirs));
  CHECK(completed(pair) == "1 success, 2 local protection error, 3 work request flushed");
  CHECK(drained(*pair.a) == 0);
}

TEST_CASE("the first message is reported once, and the RTR is none") {
  auto [pair, mine, theirs] = Ready(64);
  const auto reported = [&] { return count(*pair.b, AsyncEventType::kFirstMessage); };
  verbs::report_first_message(*pair.b->qp);
  pair.run();
  CHECK(reported() == 0);
  for (int i = 0; i < 2; ++i) {
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
    CHECK(completed(pair) == "1 success");
    CHECK(reported() == 1);
  }
}
