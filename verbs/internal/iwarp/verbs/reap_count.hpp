// SPDX-License-Identifier: Apache-2.0
// ReapCount: counts the completions of one work queue that the application has polled. Polling a
// completion frees its slot in the work queue.
#pragma once

#include <cstdint>

#include "iwarp/verbs/waiters.hpp"

namespace iwarp::verbs {

/// A counter that only grows, and the streams that wait for it to grow. Thread-safe.
class ReapCount {
 public:
  /// Returns the number of requests of the work queue whose completions have been polled, counted
  /// from the first request ever posted.
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }
  /// Raises the count to `value` and resumes the waiting streams. Does nothing if the count is
  /// `value` or more, which is possible because completions of one work queue may be pushed out of
  /// order.
  void store(std::uint64_t value) {
    if (value <= value_.load(std::memory_order_relaxed)) return;
    value_.store(value);
    waiters_.tell();
  }
  /// Registers `driver`. Its stream is resumed once, the next time that the count grows. Throws
  /// std::bad_alloc.
  void await(const std::weak_ptr<Waiter>& driver) { waiters_.add(driver); }

 private:
  std::atomic<std::uint64_t> value_{0};
  Waiters waiters_;
};

}  // namespace iwarp::verbs
