// SPDX-License-Identifier: Apache-2.0
// Tests receive queues: their limits, their order, when a slot becomes free again, and the limit
// event of a shared receive queue.
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

// [IBV-539]
TEST_CASE("a request above a limit is refused and changes nothing [VRB-53] [DDP-38]") {
  ReceiveQueue queue(2, 2);
  const std::array<Sge, 3> three{};
  CHECK(queue.post({.wr_id = 1, .sgl = three}) == Errc::kTooManySge);
  const std::array huge{Sge{.length = UINT32_MAX}, Sge{.length = 1}};
  CHECK(queue.post({.wr_id = 1, .sgl = huge}) == Errc::kMessageTooLong);
  CHECK(!queue.post({.wr_id = 1, .sgl = std::span(huge).first(1)}));
  CHECK(!queue.post({.wr_id = 2, .sgl = {}}));
  CHECK(queue.post({.wr_id = 3, .sgl = {}}) == Errc::kQueueFull);
  CHECK(queue.size() == 2);
}

TEST_CASE(
    "a slot is free again when its completion is polled; in a shared queue when the receive is "
    "consumed [VRB-42]") {
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

// [IBV-356, IBV-360]
TEST_CASE(
    "the limit event comes once when fewer receives remain than the limit; 0 disarms [VRB-19] "
    "[SEC-22]") {
  int events = 0;
  SharedReceiveQueue srq(1, {.max_wr = 8, .max_sge = 1}, [&](SharedReceiveQueue& s) {
    ++events;
    CHECK(!s.arm_limit(0));  // The callback of the limit event may call arm_limit().
  });
  CHECK(srq.arm_limit(9) == Errc::kInvalidArgument);
  for (std::uint64_t id = 0; id < 6; ++id) CHECK(!srq.post_recv({.wr_id = id, .sgl = {}}));
  CHECK(!srq.arm_limit(4));
  CHECK(srq.armed_limit() == 4);
  PostedReceive receive;
  CHECK(SharedReceiveQueuePort::take(srq, receive));
  CHECK(SharedReceiveQueuePort::take(srq, receive));
  CHECK(events == 0);
  CHECK(SharedReceiveQueuePort::take(srq, receive));
  CHECK(SharedReceiveQueuePort::take(srq, receive));
  CHECK(events == 1);
  CHECK(srq.armed_limit() == 0);
  CHECK(!srq.arm_limit(8));
  CHECK(!srq.arm_limit(0));
  CHECK(SharedReceiveQueuePort::take(srq, receive));
  CHECK(events == 1);
}

}  // namespace
}  // namespace iwarp::verbs
