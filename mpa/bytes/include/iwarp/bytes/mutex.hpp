// SPDX-License-Identifier: Apache-2.0
// Mutex: a lock for the short critical sections of the data path, which are mostly uncontended.
// Without contention, lock() and unlock() are one inlined atomic instruction each; a system call is
// made only to block and to wake up a waiter. The algorithm is the second mutex of U. Drepper,
// "Futexes Are Tricky".
#pragma once

#include <atomic>
#include <cstdint>

namespace iwarp::bytes {

/// A mutex for std::lock_guard. Not recursive.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  /// Locks the mutex; blocks while another thread holds it.
  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  /// Locks the mutex if it is free. Returns whether the caller now holds the mutex.
  bool try_lock() {
    auto expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  /// Unlocks the mutex and wakes up one waiter. The thread that locks the mutex next may destroy
  /// the mutex even before this call has returned.
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      state_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  /// The mutex is taken, and other threads may be waiting for it.
  static constexpr std::uint32_t kAwaited = 2;

  // A thread that has waited does not know whether other threads still wait, so it sets the state
  // to kAwaited, and its unlock() wakes up a waiter.
  [[gnu::noinline]] void wait() {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace iwarp::bytes
