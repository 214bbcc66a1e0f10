// SPDX-License-Identifier: Apache-2.0
// DriveLock: the lock of a connection and the work that other threads added for its holder, in one
// atomic integer. A thread that finds the lock taken adds its work to the integer and returns, so
// posting never waits. The holder can unlock in two ways only: leave() fails while the integer has
// work that the holder has not taken, and hand_over() sends a successor, another thread that takes
// all of that work. So no work is overlooked. test/net/driving/drive_lock.cpp runs this code
// through every interleaving of its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace iwarp::net {

/// `Atomic` is std::atomic, or what a test uses to explore interleavings.
template <template <typename> typename Atomic>
class BasicDriveLock {
 public:
  /// Work that a turn of the holder did not finish.
  struct Rest {
    std::uint32_t work = 0;
    bool is_followed = false;  ///< another thread is certain to enter later and do `work`, even
                               ///< without hand_over()
  };

  /// Takes the lock and returns all the work to do: `work` and what other threads added. Returns
  /// nullopt if another thread holds the lock; that thread will do `work`.
  std::optional<std::uint32_t> enter(std::uint32_t work) {
    std::uint32_t free = 0;  // the usual case: not held, and no work pending
    if (word_.compare_exchange_strong(free, kHeld, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return work;
    }
    const auto before = word_.fetch_or(work | kHeld, std::memory_order_acq_rel);
    if ((before & kHeld) != 0) return std::nullopt;
    return take();
  }
  /// Does the same as enter(), for the successor that hand_over() sent.
  std::optional<std::uint32_t> succeed() {
    // This exchange reads the value that hand_over() wrote, so enter() sees the word_ that
    // hand_over() stored.
    is_sent_.exchange(false);
    return enter(0);
  }
  /// Waits for the lock. The caller must then call take(), which returns the work that other
  /// threads added.
  void lock() {
    waiting_.fetch_add(1);
    for (;;) {
      const auto before = word_.fetch_or(kHeld);
      if ((before & kHeld) == 0) break;
      word_.wait(before | kHeld, std::memory_order_relaxed);
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Returns whether no thread holds the lock and no work waits for its next holder.
  bool is_idle() const { return word_.load() == 0; }
  /// Call with the lock held. Removes and returns the work that other threads have added so far.
  std::uint32_t take() { return word_.exchange(kHeld, std::memory_order_acq_rel) & ~kHeld; }
  /// Call with the lock held. Unlocks, and stores `left` as work for the next thread that enters.
  /// If other threads have added work since take(), does neither and returns false.
  bool leave(std::uint32_t left = 0) {
    auto expected = kHeld;
    if (!word_.compare_exchange_strong(expected, left)) return false;
    wake();
    return true;
  }
  /// Call with the lock held. Adds `left` to the pending work and unlocks, even if other threads
  /// have added work. Calls `send`, which must make another thread call succeed(), unless a former
  /// `send` has done so and that thread has not called succeed() yet.
  template <typename Send>
  void hand_over(std::uint32_t left, Send send) {
    word_.fetch_or(left, std::memory_order_relaxed);
    word_.fetch_and(~kHeld);
    wake();
    if (!is_sent_.exchange(true)) send();
  }

  /// Call with the lock held. Does `work`, and the work that other threads add meanwhile, by
  /// calling `turn(work)`, which returns what it left undone, a Rest. Then unlocks. If work remains
  /// after `turns` turns, or no other thread is certain to do it, calls `send`, which sends another
  /// thread to call succeed().
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

  // No wake-up is lost: a thread in lock() increments waiting_ before it reads word_, and the
  // holder clears word_ before it reads waiting_. All four operations are seq_cst, so at least one
  // of the two threads sees what the other wrote.
  void wake() {
    if (waiting_.load() != 0) word_.notify_all();
  }

  Atomic<std::uint32_t> word_{0};
  Atomic<std::uint32_t> waiting_{0};  ///< threads in lock()
  Atomic<bool> is_sent_{false};       ///< a successor is on its way and has not entered
};

using DriveLock = BasicDriveLock<std::atomic>;

}  // namespace iwarp::net
