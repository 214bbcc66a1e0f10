// SPDX-License-Identifier: Apache-2.0
// GatheredPosts: the doorbells of one connection that are held back, so that requests posted
// one at a time leave together. See rfc-notes/decisions/0021.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace iwarp::net {

class GatheredPosts {
 public:
  using Clock = std::chrono::steady_clock;

  /// `longest`: how long a post may wait. 0: none does.
  explicit GatheredPosts(Clock::duration longest) : longest_(longest) {}

  /// A request was posted that may wait. False: it is not to, because nothing has left for a while,
  /// or as many wait as are worth a system call.
  bool hold_back(Clock::time_point now) {
    if (now >= due()) return false;
    if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
    return count_.fetch_add(1) + 1 < kBatch;
  }
  bool is_on() const { return longest_.count() != 0; }
  bool any() const { return count_.load() != 0; }
  /// When those that wait have to leave.
  Clock::time_point due() const {
    const Clock::duration left_at(left_at_.load(std::memory_order_relaxed));
    return Clock::time_point(left_at + longest_);
  }
  Clock::duration longest() const { return longest_; }

  /// Whether any were held back since it was asked last.
  bool take_used() { return used_.exchange(false, std::memory_order_relaxed); }

  // Under the connection's lock.
  /// All that was posted before is about to leave.
  void leave() {
    if (any()) count_.exchange(0, std::memory_order_acq_rel);
  }
  void left(Clock::time_point now) {
    left_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kBatch = 16;

  const Clock::duration longest_;
  /// In one order with what says that a timer looks after them: whoever posts counts first and
  /// looks for the timer then, the timer leaves first and looks at the count then.
  std::atomic<std::uint32_t> count_{0};
  std::atomic<bool> used_{false};
  std::atomic<Clock::rep> left_at_{0};  ///< when octets were last given to TCP
};

}  // namespace iwarp::net
