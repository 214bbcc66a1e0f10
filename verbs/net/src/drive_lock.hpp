// SPDX-License-Identifier: Apache-2.0
// DriveLock: who drives a connection, and the work that others left for him meanwhile, in one word.
// Whoever finds the lock taken leaves his work and goes; the holder cannot let go without having
// seen it. So nobody who posts ever waits, and no work is lost.
#pragma once

#include <atomic>
#include <cstdint>

namespace iwarp::net {

class DriveLock {
 public:
  /// Adds `work`. True: the caller holds the lock now and has to do it; false: the holder will.
  bool enter(std::uint32_t work) {
    return (word_.fetch_or(work | kHeld, std::memory_order_acq_rel) & kHeld) == 0;
  }
  /// Waits for the lock.
  void lock() {
    for (;;) {
      const auto before = word_.fetch_or(kHeld, std::memory_order_acq_rel);
      if ((before & kHeld) == 0) return;
      word_.wait(before | kHeld, std::memory_order_relaxed);
    }
  }
  /// Holder: takes the work left so far.
  std::uint32_t take() { return word_.exchange(kHeld, std::memory_order_acq_rel) & ~kHeld; }
  /// Holder: lets go. False: there is new work, the caller still holds the lock.
  bool leave() {
    auto expected = kHeld;
    if (!word_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) return false;
    word_.notify_all();
    return true;
  }
  /// Holder: lets go and leaves `work` and what is there for the next one to enter.
  void leave_with(std::uint32_t work) {
    word_.fetch_or(work, std::memory_order_relaxed);
    word_.fetch_and(~kHeld, std::memory_order_acq_rel);
    word_.notify_all();
  }

 private:
  static constexpr std::uint32_t kHeld = 1U << 31;
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace iwarp::net
