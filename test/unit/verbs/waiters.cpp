// SPDX-License-Identifier: Apache-2.0
// Tests that each waiter for memory, for a shared receive or for a poll is notified once and need
// not poll.
#include "iwarp/verbs/waiters.hpp"

#include "driver_support.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

using Invalidated = StagTable::Invalidated;

TEST_CASE("each stream is notified once, however often it registered, departed streams are not") {
  Waiters waiters;
  const auto one = std::make_shared<CountingDriver>();
  const auto two = std::make_shared<CountingDriver>();
  waiters.tell();  // nothing is registered as a waiter
  for (int i = 0; i < 3; ++i) waiters.add(one);
  waiters.add(two);
  waiters.add(std::make_shared<CountingDriver>());
  waiters.add({});
  for (int i = 0; i < 2; ++i) waiters.tell();
  CHECK(one->resumed == 1);
  CHECK(two->resumed == 1);
  waiters.add(one);
  waiters.tell();
  CHECK(one->resumed == 2);
}

TEST_CASE("a stream that waits to invalidate is notified when the last grant ends [SEC-14]") {
  Table table;
  const auto driver = std::make_shared<CountingDriver>();
  Region* region = table.add();
  const auto at = address_of(region->address);
  auto first = table.acquire(remote_write(), stag_of(region), at, 8);
  auto second = table.acquire(remote_write(), stag_of(region), at + 8, 8);
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false, driver.get()) == Invalidated::kPinned);
  first->release();
  CHECK(driver->resumed == 0);
  second->release();
  CHECK(driver->resumed == 1);
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false, driver.get()) == Invalidated::kDone);
  CHECK(driver->resumed == 1);
}

TEST_CASE("a stream that waits for a shared receive is notified when one is posted [VRB-19]") {
  SharedReceiveQueue srq(kPd, {.max_wr = 4, .max_sge = 1}, nullptr);
  const auto driver = std::make_shared<CountingDriver>();
  PostedReceive receive;
  CHECK_FALSE(SharedReceiveQueuePort::take_or_await(srq, driver, receive));
  CHECK(srq.post_recv({.wr_id = 1, .sgl = std::array<Sge, 2>{}}) == Errc::kTooManySge);
  CHECK(driver->resumed == 0);
  CHECK(!srq.post_recv({.wr_id = 1, .sgl = {}}));
  CHECK(driver->resumed == 1);
  CHECK(SharedReceiveQueuePort::take_or_await(srq, driver, receive));
  CHECK(receive.wr_id == 1);
}

TEST_CASE("a stream that waits for completions to be polled is notified when they are [SEC-22]") {
  ReapCount reaped;
  const auto driver = std::make_shared<CountingDriver>();
  reaped.store(1);
  reaped.await(driver);
  CHECK(driver->resumed == 0);
  for (std::uint64_t n : {2U, 3U}) reaped.store(n);
  CHECK(driver->resumed == 1);
  CHECK(reaped.value() == 3);
}

}  // namespace
}  // namespace iwarp::verbs
