// SPDX-License-Identifier: Apache-2.0
// YieldPolicy: decides after how many empty polls a thread yields the processor. On a small machine
// the thread that runs next may be the peer, or a thread that serves the peer. An early yield is
// best in that case. But a thread that keeps the processor for a whole time slice is not the peer:
// the peer then runs on another processor or not at all. If the polling thread then yielded in each
// round trip, each round trip would take a whole time slice. So the polling thread yields only
// after it has polled for longer than a round trip.
#pragma once

#include <chrono>

namespace iwarp::rdma_core {

class YieldPolicy {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Call after each poll. `found` says whether the poll returned a completion. Returns whether the
  /// thread must yield now.
  bool polled(bool found) {
    vain_ = found ? 0 : vain_ + 1;
    if (vain_ < limit_) return false;
    vain_ = 0;
    return true;
  }
  /// Call after a yield. `away` is the time until sched_yield() returned.
  void yielded(Duration away) {
    limit_ = away < kNobody ? kMany : away < kSlice ? kFew : kRoundTrip;
  }

  // The number of consecutive empty polls before a yield depends on how long the previous yield
  // took. It is kMany if the yield took less than kNobody, because then no other thread was ready
  // to run. It is kRoundTrip if another thread kept the processor for a time slice (kSlice or
  // more). It is kFew if another thread ran for a shorter time, as a peer with the same policy
  // does.
  static constexpr unsigned kFew = 4;
  static constexpr unsigned kMany = 64;
  /// 512 polls take longer than a round trip between two processors of one machine.
  static constexpr unsigned kRoundTrip = 512;
  static constexpr auto kNobody = std::chrono::microseconds(3);
  static constexpr auto kSlice = std::chrono::milliseconds(1);

 private:
  unsigned vain_ = 0;
  unsigned limit_ = kMany;
};

}  // namespace iwarp::rdma_core
