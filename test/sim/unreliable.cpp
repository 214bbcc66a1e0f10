// SPDX-License-Identifier: Apache-2.0
// Tests queue pairs of InfiniBand's type UC: a message that cannot be placed is dropped, and the
// stream goes on.
#include "iwarp/verbs/queue_pair_port.hpp"
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

/// A pair whose ends drop a message that waits longer than 1 s for a receive.
struct Unreliable : Connected {
  explicit Unreliable(bool crc = true) : Connected(options(crc), options(crc)) {
    verbs::make_unreliable(*a->qp);
    verbs::make_unreliable(*b->qp);
  }
  static ConnectionOptions options(bool crc) { return with_crc(crc, holding(1s, acknowledged())); }
};

}  // namespace

TEST_CASE("an unreliable connection drops a Write that may not access its target") {
  for (const std::size_t size : {std::size_t{8}, std::size_t{200'000}}) {
    for (const bool crc : {true, false}) {
      Unreliable pair(crc);
      const auto [mine, theirs] = regions(pair, size);
      post_write(*pair.a, 1, sge(mine, 0, size), wrong_key(remote(theirs)));
      CHECK(completed(pair) == "1 success");
      CHECK(all_zero(theirs));
      fill_pattern(mine);
      post_recv(*pair.b, 10, sge(theirs, 0, size));
      post_send(*pair.a, 2, sge(mine, 0, size));
      CHECK(completed(pair) == "2 success");
      CHECK(completed(pair, *pair.b) == "10 success");
      CHECK(same(mine, theirs, size));
      CHECK(pair.b->qp->state() == QpState::kRts);
    }
  }
}

TEST_CASE("the Immediate of a dropped Write consumes no receive") {
  Unreliable pair;
  const auto [mine, theirs] = regions(pair, 64);
  post_recv(*pair.b, 10, sge(theirs, 0, 64));
  post_recv(*pair.b, 11, sge(theirs, 0, 64));
  const Sge from = sge(mine, 0, 8);
  post_write_immediate(*pair.a, 1, from, wrong_key(remote(theirs)), 7);
  CHECK(completed(pair) == "1 success");
  CHECK(completed(pair, *pair.b).empty());
  post_write_immediate(*pair.a, 2, from, remote(theirs), 7);
  CHECK(completed(pair) == "2 success");
  CHECK(completed(pair, *pair.b) == "10 success");
  post_send(*pair.a, 3, from);
  CHECK(completed(pair, *pair.b) == "11 success");
}

TEST_CASE("an unreliable connection drops messages for which no receive is posted in time") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{200'000}}) {
    CAPTURE(size);
    Unreliable pair;
    pair.advance(1ns);  // A wait that begins at time 0 would not be recorded.
    const auto [mine, theirs] = regions(pair, 200'000);
    post_send(*pair.a, 1, sge(mine, 0, size));
    CHECK(completed(pair).empty());
    pair.advance(1s - 1ns);
    CHECK(completed(pair).empty());
    pair.advance(1ns);
    CHECK(completed(pair) == "1 success");
    // Now nothing waits, until a receive is posted.
    post_send(*pair.a, 2, sge(mine, 0, size));
    post_send(*pair.a, 3, sge(mine, 0, 8));
    CHECK(completed(pair) == "2 success, 3 success");
    fill_pattern(mine);
    post_recv(*pair.b, 10, sge(theirs, 0, 200'000));
    post_send(*pair.a, 4, sge(mine, 0, size));
    post_send(*pair.a, 5, sge(mine, 0, size));
    CHECK(completed(pair) == "4 success");
    CHECK(completed(pair, *pair.b) == "10 success");
    CHECK(same(mine, theirs, size));
    pair.advance(1s);
    CHECK(completed(pair) == "5 success");
    CHECK(pair.b->qp->state() == QpState::kRts);
  }
}

TEST_CASE("a receive that was taken for a dropped Immediate is flushed") {
  Unreliable pair;
  const auto [mine, theirs] = regions(pair, 64);
  post_recv(*pair.b, 10, sge(theirs, 0, 64));
  post_recv(*pair.b, 11, sge(theirs, 0, 64));
  post_write_immediate(*pair.a, 1, sge(mine, 0, 8), wrong_key(remote(theirs)), 7);
  pair.run();
  REQUIRE(!pair.b->qp->abort());
  CHECK(completed(pair, *pair.b) == "10 work request flushed, 11 work request flushed");
}
