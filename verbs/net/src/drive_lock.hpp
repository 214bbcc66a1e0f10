// SPDX-License-Identifier: Apache-2.0
// DriveLock: who drives a connection, and the work that others left for him meanwhile, in one word.
// Whoever finds the lock taken leaves his work and goes; the holder cannot let go without having
// seen it. So nobody who posts ever waits, and no work is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace iwarp::net {

class DriveLock {
 public:
  /// The caller holds the lock now and has this to do, `work` and what others left; nullopt: the
  /// holder will do it.
  std::optional<std::uint32_t> enter(std::uint32_t work) {
    std::uint32_t free = 0;  // mostly, and nothing is left
    if (word_.compare_exchange_strong(free, kHeld, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return work;
    }
    const auto before = word_.fetch_or(work | kHeld, std::memory_order_acq_rel);
    if ((before & kHeld) != 0) return std::nullopt;
    return take();
  }
  /// Waits for the lock; then take() has what others left.
  void lock() {
    waiting_.fetch_add(1);
    for (;;) {
      const auto before = word_.fetch_or(kHeld);
      if ((before & kHeld) == 0) break;
      word_.wait(before | kHeld, std::memory_order_relaxed);
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Holder: takes the work left so far.
  std::uint32_t take() { return word_.exchange(kHeld, std::memory_order_acq_rel) & ~kHeld; }
  /// Holder: lets go. False: there is new work, the caller still holds the lock.
  bool leave() {
    auto expected = kHeld;
    if (!word_.compare_exchange_strong(expected, 0)) return false;
    wake();
    return true;
  }
  /// Holder: lets go and leaves `work` and what is there for the next one to enter.
  void leave_with(std::uint32_t work) {
    word_.fetch_or(work, std::memory_order_relaxed);
    word_.fetch_and(~kHeld);
    wake();
  }

 private:
  static constexpr std::uint32_t kHeld = 1U << 31;

  // Who waits is counted before it finds the lock taken, and the lock is let go before this looks:
  // in the one order of these four (seq_cst), one of the two sees the other.
  void wake() {
    if (waiting_.load() != 0) word_.notify_all();
  }

  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint32_t> waiting_{0};  ///< in lock()
};

}  // namespace iwarp::net
