// SPDX-License-Identifier: Apache-2.0
// Mutex: for the short critical sections of the data path, mostly free when they are entered. Then
// lock() and unlock() are one atomic instruction each, in line; only who finds it taken, and who
// lets go while others wait, calls anything. The second mutex of U. Drepper, "Futexes Are Tricky".
#pragma once

#include <atomic>
#include <cstdint>

namespace iwarp::bytes {

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  bool try_lock() {
    auto expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  // Whoever waits next may have destroyed this by the time of the call, which needs the address
  // only.
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      state_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAwaited = 2;  ///< taken, and others may wait

  // Who has waited cannot know whether others still do, so it takes the mutex as awaited.
  [[gnu::noinline]] void wait() {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace iwarp::bytes
