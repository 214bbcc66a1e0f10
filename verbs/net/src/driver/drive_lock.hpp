// SPDX-License-Identifier: Apache-2.0
// DriveLock: the lock of a connection and the work that other threads left for its holder, in one
// word. A thread that finds the lock taken adds its work to the word and returns, so posting never
// waits. The holder can unlock in two ways only: leave() fails while the word has work that the
// holder has not taken, and hand_over() sends a successor that takes all of it. So no work is
// overlooked. test/net/drive_lock.cpp runs this code through every interleaving of its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace iwarp::net {

/// `Atomic` is std::atomic, or what a test uses to explore interleavings.
template <template <typename> typename Atomic>
class BasicDriveLock {
 public:
  /// What a turn of the holder did not get done.
  struct Rest {
    std::uint32_t work = 0;
    bool is_followed = false;  ///< another thread is certain to enter later without being sent
  };

  /// Returns what the caller, who holds the lock now, has to do: `work` and what other threads
  /// left. nullopt: the holder will do it.
  std::optional<std::uint32_t> enter(std::uint32_t work) {
    std::uint32_t free = 0;  // mostly, and no work is left
    if (word_.compare_exchange_strong(free, kHeld, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return work;
    }
    const auto before = word_.fetch_or(work | kHeld, std::memory_order_acq_rel);
    if ((before & kHeld) != 0) return std::nullopt;
    return take();
  }
  /// As enter(), for the successor that hand_over() sent.
  std::optional<std::uint32_t> succeed() {
    // Reads what hand_over() wrote, so enter() sees the word as that left it.
    is_sent_.exchange(false);
    return enter(0);
  }
  /// Waits for the lock; then take() has what other threads left.
  void lock() {
    waiting_.fetch_add(1);
    for (;;) {
      const auto before = word_.fetch_or(kHeld);
      if ((before & kHeld) == 0) break;
      word_.wait(before | kHeld, std::memory_order_relaxed);
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Returns true if no thread holds the lock and no work waits for its next holder.
  bool is_idle() const { return word_.load() == 0; }
  /// Holder: takes the work left so far.
  std::uint32_t take() { return word_.exchange(kHeld, std::memory_order_acq_rel) & ~kHeld; }
  /// Holder: unlocks, and leaves `left` for the next thread that enters. False: other threads left
  /// work meanwhile, and the caller still holds the lock.
  bool leave(std::uint32_t left = 0) {
    auto expected = kHeld;
    if (!word_.compare_exchange_strong(expected, left)) return false;
    wake();
    return true;
  }
  /// Holder: unlocks whatever other threads left meanwhile, and has `send` send a thread that calls
  /// succeed(), unless one is on its way.
  template <typename Send>
  void hand_over(std::uint32_t left, Send send) {
    word_.fetch_or(left, std::memory_order_relaxed);
    word_.fetch_and(~kHeld);
    wake();
    if (!is_sent_.exchange(true)) send();
  }

  /// Holder: does `work` and what other threads leave meanwhile, then unlocks. `turn(work)` returns
  /// a Rest. Work that nobody is certain to follow up goes to a successor, and so does all work
  /// after `turns` turns.
  template <typename Turn, typename Send>
  void drive(std::uint32_t work, int turns, Turn turn, Send send) {
    for (int done = 1;; ++done) {
      const Rest rest = turn(work);
      const bool is_followed = rest.work == 0 || rest.is_followed;
      if (is_followed && leave(rest.work)) return;
      if (!is_followed || done == turns) return hand_over(rest.work, send);
      work = take() | rest.work;
    }
  }

 private:
  static constexpr std::uint32_t kHeld = 1U << 31;

  // A thread in lock() is counted before it finds the lock taken, and the lock is free before this
  // looks: in the one order of these four (seq_cst), one of the two sees the other.
  void wake() {
    if (waiting_.load() != 0) word_.notify_all();
  }

  Atomic<std::uint32_t> word_{0};
  Atomic<std::uint32_t> waiting_{0};  ///< in lock()
  Atomic<bool> is_sent_{false};       ///< a successor that has not entered yet
};

using DriveLock = BasicDriveLock<std::atomic>;

}  // namespace iwarp::net
