// SPDX-License-Identifier: Apache-2.0
// YieldPolicy: decides after how many empty polls a thread yields the processor. On a small machine
// the thread that runs next may be the peer, or a thread that serves the peer, and then an early
// yield is best. But if the other thread keeps the processor for a whole time slice, the peer runs
// on another processor or not at all. A yield in each round trip would then cost a time slice in
// each round trip, so the thread yields only after it has polled for longer than a round trip.
#pragma once

#include <chrono>

namespace iwarp::rdma_core {

class YieldPolicy {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Call after each poll. `found` says whether the poll returned a completion. Returns whether to
  /// yield now.
  bool polled(bool found) {
    vain_ = found ? 0 : vain_ + 1;
    if (vain_ < limit_) return false;
    vain_ = 0;
    return true;
  }
  /// Call after a yield, with the time that it took.
  void yielded(Duration away) {
    limit_ = away < kNobody ? kMany : away < kSlice ? kFew : kRoundTrip;
  }

  // These are the numbers of consecutive empty polls before a yield. The number depends on the
  // duration of the previous yield: kFew if another thread ran for a short time, as a peer with the
  // same policy does; kMany if no other thread was ready to run (less than kNobody); kRoundTrip if
  // another thread kept the processor for a time slice (kSlice or more).
  static constexpr unsigned kFew = 4;
  static constexpr unsigned kMany = 64;
  /// 512 polls take longer than a round trip between two processors
  static constexpr unsigned kRoundTrip = 512;
  static constexpr auto kNobody = std::chrono::microseconds(3);
  static constexpr auto kSlice = std::chrono::milliseconds(1);

 private:
  unsigned vain_ = 0;
  unsigned limit_ = kMany;
};

}  // namespace iwarp::rdma_core
