// SPDX-License-Identifier: Apache-2.0
// Tests receive queues: receives that are withdrawn, and when a slot becomes free again.
#include "iwarp/verbs/receive_queue.hpp"

#include <doctest/doctest.h>

#include <array>

namespace iwarp::verbs {
namespace {

TEST_CASE("withdrawn receives free their slots, and can be posted again") {
  ReceiveQueue queue(3, 1);
  const std::array one{Sge{.length = 4, .lkey = Stag{9}}};
  for (std::uint64_t id = 0; id < 3; ++id) CHECK(!queue.post({.wr_id = id, .sgl = one}));
  PostedReceive first;
  REQUIRE(queue.take(first));
  const auto withdrawn = queue.withdraw();
  REQUIRE(withdrawn.size() == 2);
  CHECK(withdrawn[0].wr_id == 1);
  CHECK(withdrawn[1].sgl[0].lkey == Stag{9});
  CHECK(queue.size() == 0);
  CHECK_FALSE(queue.take(first));
  // The completion of the consumed receive has not been polled, so there is room for only two more
  // receives.
  CHECK(!queue.post({.wr_id = 1, .sgl = one}));
  CHECK(!queue.post({.wr_id = 2, .sgl = one}));
  CHECK(queue.post({.wr_id = 3, .sgl = one}) == Errc::kQueueFull);
  REQUIRE(queue.take(first));
  CHECK(first.wr_id == 1);
}

TEST_CASE("a slot is free again after the poll; in a shared queue before it [VRB-42]") {
  for (const bool shared : {false, true}) {
    ReceiveQueue queue(1, 1);
    if (shared) queue.reuse_at_once();
    CHECK(!queue.post({.wr_id = 1, .sgl = {}}));
    PostedReceive receive;
    REQUIRE(queue.take(receive));
    CHECK((queue.post({.wr_id = 2, .sgl = {}}) == Errc::kQueueFull) == !shared);
    queue.reaped().store(queue.taken());
    if (!shared) CHECK(!queue.post({.wr_id = 2, .sgl = {}}));
  }
}

}  // namespace
}  // namespace iwarp::verbs
