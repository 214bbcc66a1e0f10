// SPDX-License-Identifier: Apache-2.0
// Tests the completion queue: growth, flushed completions, and how it notifies the program and the
// queues that produce completions.
#include "iwarp/verbs/completion_queue.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/reap_count.hpp"

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

}  // namespace
}  // namespace iwarp::verbs
