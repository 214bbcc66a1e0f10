// SPDX-License-Identifier: Apache-2.0
// DriveLock: one atomic integer that holds the lock of a connection and the work that other threads
// add for the lock's holder. A thread that finds the lock taken adds its work to the integer and
// returns, so posting never waits. The holder unlocks with leave() or hand_over(), and neither
// loses work: leave() fails while the integer contains work that the holder has not taken, and
// hand_over() makes another thread, the successor, take all of that work.
// test/net/driving/drive_lock.cpp runs this code through every interleaving of its threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace iwarp::net {

/// `Atomic` is std::atomic, or the class with which a test explores interleavings.
template <template <typename> typename Atomic>
class BasicDriveLock {
 public:
  /// Work that a turn of the holder did not finish.
  struct Rest {
    std::uint32_t work = 0;
    /// whether another thread will certainly enter later and do `work`, even without hand_over()
    bool is_followed = false;
  };

  /// Takes the lock and returns all work to do: `work`, and the work that other threads have added.
  /// Returns nullopt if another thread holds the lock; that thread will do `work`.
  std::optional<std::uint32_t> enter(std::uint32_t work) {
    std::uint32_t free = 0;  // the usual value: the lock is free and no work is pending
    if (word_.compare_exchange_strong(free, kHeld, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return work;
    }
    const auto before = word_.fetch_or(work | kHeld, std::memory_order_acq_rel);
    if ((before & kHeld) != 0) return std::nullopt;
    return take();
  }
  /// Takes the lock as enter() does. Called by the successor, the thread that `send` of hand_over()
  /// has chosen.
  std::optional<std::uint32_t> succeed() {
    // This exchange reads the value that hand_over() wrote to is_sent_. So enter() also sees the
    // value that hand_over() wrote to word_ earlier.
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
  /// Removes and returns the work that other threads have added so far. Call with the lock held.
  std::uint32_t take() { return word_.exchange(kHeld, std::memory_order_acq_rel) & ~kHeld; }
  /// Unlocks, and stores `left` as work for the next thread that enters. If other threads have
  /// added work since take(), keeps the lock and returns false. Call with the lock held.
  bool leave(std::uint32_t left = 0) {
    auto expected = kHeld;
    if (!word_.compare_exchange_strong(expected, left)) return false;
    wake();
    return true;
  }
  /// Adds `left` to the pending work and unlocks, even if other threads have added work. Then calls
  /// `send`, which must choose another thread as the successor and make it enter with succeed().
  /// Does not call `send` if the successor of an earlier hand_over() has not entered yet. Call with
  /// the lock held.
  template <typename Send>
  void hand_over(std::uint32_t left, Send send) {
    word_.fetch_or(left, std::memory_order_relaxed);
    word_.fetch_and(~kHeld);
    wake();
    if (!is_sent_.exchange(true)) send();
  }

  /// Does `work`, and the work that other threads add meanwhile, by calling `turn(work)`, which
  /// returns a Rest with its unfinished work. Then unlocks. Calls `send` if other threads still
  /// add work after `turns` turns, or if no other thread is certain to do the unfinished work.
  /// `send` must make another thread enter with succeed(). Call with the lock held.
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
  Atomic<std::uint32_t> waiting_{0};  ///< number of threads in lock()
  /// `send` was called, and the successor has not called succeed() yet
  Atomic<bool> is_sent_{false};
};

using DriveLock = BasicDriveLock<std::atomic>;

}  // namespace iwarp::net
