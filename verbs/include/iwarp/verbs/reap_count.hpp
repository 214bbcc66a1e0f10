// SPDX-License-Identifier: Apache-2.0
// How far a consumer has polled the completions of one queue: so many of its slots are free again.
#pragma once

#include <cstdint>

#include "iwarp/verbs/waiters.hpp"

namespace iwarp::verbs {

class ReapCount {
 public:
  std::uint64_t value() const { return value_.load(std::memory_order_acquire); }
  /// Less than before counts for nothing: threads may push what they complete in another order.
  void store(std::uint64_t value) {
    if (value <= value_.load(std::memory_order_relaxed)) return;
    value_.store(value);
    waiters_.tell();
  }
  /// `driver` is told when the count grows next.
  void await(const std::weak_ptr<QpDriver>& driver) { waiters_.add(driver); }

 private:
  std::atomic<std::uint64_t> value_{0};
  Waiters waiters_;
};

}  // namespace iwarp::verbs
