// SPDX-License-Identifier: Apache-2.0
// ReapCount: how far the application has polled the completions of one work queue. A slot of the
// queue is free again once its completion has been polled.
#pragma once

#include <cstdint>

#include "iwarp/verbs/waiters.hpp"

namespace iwarp::verbs {

/// A counter that only grows, and the streams that wait for it to grow. Thread-safe.
class ReapCount {
 public:
  /// Returns how many completions of the queue, counted from the first request ever posted, have
  /// been polled.
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }
  /// Raises the count to `value` and resumes the waiting streams. Does nothing if the count is
  /// already as high, because completions of one queue may be pushed out of order.
  void store(std::uint64_t value) {
    if (value <= value_.load(std::memory_order_relaxed)) return;
    value_.store(value);
    waiters_.tell();
  }
  /// Registers `driver`, whose stream is resumed once, when the count grows next. Throws
  /// std::bad_alloc.
  void await(const std::weak_ptr<QpDriver>& driver) { waiters_.add(driver); }

 private:
  std::atomic<std::uint64_t> value_{0};
  Waiters waiters_;
};

}  // namespace iwarp::verbs
