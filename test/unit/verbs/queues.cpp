// SPDX-License-Identifier: Apache-2.0
// Tests the queues of work: the completion queue with its growth, flushed completions and
// notifications, receive queues whose receives are withdrawn, and the ring of a work queue. Also
// tests that a stream that waits for memory, a shared receive or a poll is notified once.
#include <deque>
#include <vector>

#include "driver_support.hpp"
#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/growing_ring.hpp"
#include "iwarp/verbs/reap_count.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "iwarp/verbs/waiters.hpp"
#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

bool push(CompletionQueue& cq, std::uint64_t id, bool solicited = false) {
  return CompletionQueuePort::push(cq, {.wr_id = id}, solicited, {});
}

// [IBV-272]
TEST_CASE("completions keep their order while the queue grows [VRB-51]") {
  CompletionQueue cq(1000, nullptr);
  std::vector<WorkCompletion> out(1000);
  std::uint64_t pushed = 0;
  std::uint64_t polled = 0;
  // Each round enlarges the ring and starts at another slot.
  for (const std::size_t more : {50U, 60U, 100U, 300U, 600U}) {
    for (std::size_t i = 0; i < more; ++i) REQUIRE(push(cq, pushed++));
    const auto n = cq.poll(std::span(out).first(more / 2));
    REQUIRE(n == more / 2);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i].wr_id == polled++);
  }
  CHECK_FALSE(cq.overflowed());
  CHECK(cq.poll(out) == pushed - polled);
  CHECK(out[0].wr_id == polled);
}

TEST_CASE("the notification is called without locks: it may poll and arm") {
  CompletionQueue* self = nullptr;
  std::size_t polled = 0;
  CompletionQueue cq(8, [&] {
    std::array<WorkCompletion, 4> out;
    polled += self->poll(out);
    self->arm(Notify::kNext);
  });
  self = &cq;
  cq.arm(Notify::kNext);
  push(cq, 1);
  push(cq, 2);
  CHECK(polled == 2);
}

TEST_CASE("a queue is notified that its slot is free when the completion is polled [VRB-42]") {
  CompletionQueue cq(8, nullptr);
  ReapCount reaped;
  ReapCount gone;
  CHECK(CompletionQueuePort::push(cq, {.wr_id = 1}, false, {.counter = &reaped, .value = 5}));
  CHECK(CompletionQueuePort::push(cq, {.wr_id = 2}, false, {.counter = &gone, .value = 6}));
  CHECK(reaped.value() == 0);
  CompletionQueuePort::forget(cq, &gone);
  std::array<WorkCompletion, 2> out;
  CHECK(cq.poll(out) == 2);  // forget() drops the counter, not the completion.
  CHECK(reaped.value() == 5);
  CHECK(gone.value() == 0);
}

TEST_CASE("flushed completions are polled apart from successful ones, and wake a sleeper") {
  int notified = 0;
  CompletionQueue cq(8, [&notified] { ++notified; });
  std::array<WorkCompletion, 8> out;
  const auto push_both = [&cq] {
    push(cq, 1);
    for (int i = 0; i < 2; ++i)
      CompletionQueuePort::push(cq, {.wr_id = 2, .status = WcStatus::kWrFlush}, true, {});
  };
  push_both();
  cq.arm(Notify::kNext);
  CHECK(cq.poll(out, Flushed::kApart) == 1);
  CHECK(notified == 1);
  CHECK(cq.poll(out, Flushed::kApart) == 2);
  push_both();
  // This poll fills the caller's array, so the caller expects more completions and polls again.
  CHECK(cq.poll(std::span(out).first(1), Flushed::kApart) == 1);
  cq.arm(Notify::kSolicited);
  CHECK(cq.poll(out, Flushed::kApart) == 2);
  CHECK(notified == 1);
}

TEST_CASE("the failed completions of one queue pair can be removed from the middle") {
  CompletionQueue cq(5, nullptr);
  ReapCount reaped;
  std::array<WorkCompletion, 5> out;
  // Fills the ring, beginning at its third slot.
  for (int i = 0; i < 2; ++i) push(cq, 0);
  CHECK(cq.poll(out) == 2);
  CHECK(CompletionQueuePort::push(cq, {.wr_id = 6, .qp_num = 1}, false,
                                  {.counter = &reaped, .value = 6}));
  for (std::uint32_t qp : {1U, 2U, 1U, 2U}) {
    CHECK(CompletionQueuePort::push(cq, {.wr_id = qp, .status = WcStatus::kWrFlush, .qp_num = qp},
                                    true, {.counter = &reaped, .value = qp}));
  }
  CompletionQueuePort::drop_failed(cq, 3);
  CHECK(reaped.value() == 0);
  CompletionQueuePort::drop_failed(cq, 1);
  CHECK(reaped.value() == 1);
  push(cq, 7);
  REQUIRE(cq.poll(out) == 4);
  CHECK(out[0].wr_id == 6);
  CHECK(out[1].wr_id == 2);
  CHECK(out[2].wr_id == 2);
  CHECK(out[3].wr_id == 7);
  CHECK_FALSE(cq.overflowed());
}

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

TEST_CASE("a ring keeps its order while it grows, wraps around and loses elements") {
  std::mt19937 random(7);
  GrowingRing<int> ring;
  std::deque<int> expected;
  for (int value = 0; value < 20000; ++value) {
    const auto what = random() % 16;
    if (what < 9) {
      REQUIRE(ring.make_room());
      ring.push_back() = value;
      expected.push_back(value);
    } else if (what < 15) {
      const auto count = random() % (expected.size() + 1) % 4;
      ring.pop_front(count);
      expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      const auto goes = [divisor = 2 + static_cast<int>(random() % 5)](int i) {
        return i % divisor == 0;
      };
      ring.erase_if(goes);
      std::erase_if(expected, goes);
    }
    REQUIRE(ring.size() == expected.size());
    REQUIRE(ring.empty() == expected.empty());
    if (!ring.empty()) REQUIRE(ring.front() == expected.front());
    for (std::size_t i = 0; i < ring.size(); ++i) REQUIRE(ring[i] == expected[i]);
  }
  ring.clear();
  CHECK(ring.empty());
}

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
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false, driver.get()) ==
        StagTable::Invalidated::kPinned);
  first->release();
  CHECK(driver->resumed == 0);
  second->release();
  CHECK(driver->resumed == 1);
  CHECK(table.invalidate(kPd, kQp, stag_of(region), false, driver.get()) ==
        StagTable::Invalidated::kDone);
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
