// SPDX-License-Identifier: Apache-2.0
// YieldPolicy: after how many empty polls a thread yields the processor. On a small machine the
// thread that runs next may be the peer, or a thread that serves it, and then an early yield is
// best. If another thread keeps the processor for a whole time slice, the peer runs on another
// processor or not at all. A yield in each round trip would then cost a slice each time, so the
// thread yields only if it has polled for longer than a round trip.
#pragma once

#include <chrono>

namespace iwarp::rdma_core {

class YieldPolicy {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Call after each poll. Returns whether to yield now.
  bool polled(bool found) {
    vain_ = found ? 0 : vain_ + 1;
    if (vain_ < limit_) return false;
    vain_ = 0;
    return true;
  }
  /// Call after a yield. `away`: how long it took.
  void yielded(Duration away) {
    limit_ = away < kNobody ? kMany : away < kSlice ? kFew : kRoundTrip;
  }

  // The number of consecutive empty polls before a yield. It depends on the previous yield: kFew if
  // another thread returned the processor soon, as a peer with the same policy does; kMany if no
  // other thread was ready to run; kRoundTrip if it was gone for a slice.
  static constexpr unsigned kFew = 4;
  static constexpr unsigned kMany = 64;
  static constexpr unsigned kRoundTrip = 512;  ///< takes longer than one between two processors
  static constexpr auto kNobody = std::chrono::microseconds(3);
  static constexpr auto kSlice = std::chrono::milliseconds(1);

 private:
  unsigned vain_ = 0;
  unsigned limit_ = kMany;
};

}  // namespace iwarp::rdma_core
