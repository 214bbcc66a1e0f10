// SPDX-License-Identifier: Apache-2.0
// CompletionQueuePort: the functions of a completion queue that queue pairs and drivers call.
// Progress: what a completion queue calls in its driver.
#pragma once

#include <cstdint>

#include "iwarp/verbs/completion_queue.hpp"

namespace iwarp::verbs {

class ReapCount;

/// Drives the connections that feed a completion queue. A completion queue calls its Progress when
/// the application polls the empty queue.
class Progress {
 public:
  /// Does the pending work of the connections. Called when the application has polled the queue and
  /// found it empty.
  virtual void make_progress() = 0;
  /// Makes other threads drive the connections from now on. Called when the application is about to
  /// sleep.
  virtual void armed() = 0;

 protected:
  ~Progress() = default;
};

/// Polling a completion raises `counter` to `value`, unless `counter` is null. [VRB-42]
struct Reaped {
  ReapCount* counter = nullptr;
  std::uint64_t value = 0;
};

/// Functions of a CompletionQueue. Thread-safe.
struct CompletionQueuePort {
  // For queue pairs -----------------------------------------------------------------------------
  /// Appends a completion, and calls `notify` if the queue is armed for this kind of completion.
  /// Returns false if the completion is lost, because the queue is full or has overflowed before,
  /// or because there is no memory.
  static bool push(CompletionQueue& cq, const WorkCompletion& wc, bool solicited_or_error,
                   Reaped reaped);
  /// Test-and-set: returns true only in the first call, whose caller has to report the overflow.
  static bool take_overflow(CompletionQueue& cq) { return !cq.overflow_reported_.exchange(true); }
  /// Removes all references to `counter` from the queued completions. Call before `counter` is
  /// destroyed.
  static void forget(CompletionQueue& cq, const ReapCount* counter);
  /// Discards the failed completions of `qp_num` and frees the slots of their requests.
  static void drop_failed(CompletionQueue& cq, std::uint32_t qp_num);
  /// Returns whether a successful completion of `qp_num` has not been polled yet.
  static bool has_success(CompletionQueue& cq, std::uint32_t qp_num);
  /// Returns a count that changes whenever a poll leaves the queue empty. A changed count means
  /// that the application has polled all completions and now waits for requests in flight.
  static std::uint32_t times_emptied(const CompletionQueue& cq) {
    return cq.emptied_.load(std::memory_order_relaxed);
  }
  /// Records that posted requests are delayed until the application polls; see
  /// take_waiting_posts().
  static void let_posts_wait(CompletionQueue& cq) {
    cq.posts_wait_.store(true, std::memory_order_release);
  }
  /// Counts a queue pair as a user of the queue. A queue pair that uses it for sends and for
  /// receives counts twice.
  static void attach(CompletionQueue& cq) { cq.attached_.fetch_add(1, std::memory_order_relaxed); }
  /// Reverses attach().
  static void detach(CompletionQueue& cq) { cq.attached_.fetch_sub(1, std::memory_order_relaxed); }

  // For drivers ---------------------------------------------------------------------------------
  /// Returns the number of users, see attach().
  static std::uint32_t attached(const CompletionQueue& cq) {
    return cq.attached_.load(std::memory_order_relaxed);
  }
  /// Calls `notify` if the queue is armed, as if a completion had been pushed, so that the
  /// application polls.
  static void call_consumer(CompletionQueue& cq);
  /// Returns whether the queue is armed.
  static bool is_armed(const CompletionQueue& cq) {
    return cq.armed_.load(std::memory_order_relaxed) != CompletionQueue::Armed::kNo;
  }
  /// Test-and-clear: returns whether let_posts_wait() was called since the last
  /// take_waiting_posts().
  static bool take_waiting_posts(CompletionQueue& cq) {
    return cq.posts_wait_.load(std::memory_order_relaxed) && cq.posts_wait_.exchange(false);
  }
  /// Sets the object that poll() and arm() call; null unsets it. `progress` must outlive the queue
  /// or be unset before `progress` is destroyed.
  static void set_progress(CompletionQueue& cq, Progress* progress) {
    cq.progress_.store(progress);
  }
};

}  // namespace iwarp::verbs
