// SPDX-License-Identifier: Apache-2.0
// YieldPolicy: after how many polls in vain a thread lets others have the processor. On a small
// machine one of them may be the peer, or who serves it, and then soon is best. Where somebody
// takes it for a whole slice instead, the peer runs on another processor or not at all: a yield at
// each round trip would cost a slice each, so only a peer that is away any longer is worth one.
#pragma once

#include <chrono>

namespace iwarp::rdma_core {

class YieldPolicy {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// After each poll. True: yield.
  bool polled(bool found) {
    vain_ = found ? 0 : vain_ + 1;
    if (vain_ < limit_) return false;
    vain_ = 0;
    return true;
  }
  /// `away`: how long that took.
  void yielded(Duration away) {
    limit_ = away < kNobody ? kMany : away < kSlice ? kFew : kRoundTrip;
  }

  // Polls in vain, in a row, after which it yields: where the last time somebody gave the processor
  // back soon, as a peer does that is as polite; where nobody wanted it; and where it was gone for
  // a slice.
  static constexpr unsigned kFew = 4;
  static constexpr unsigned kMany = 64;
  static constexpr unsigned kRoundTrip = 512;  ///< and more than one, between two processors
  static constexpr auto kNobody = std::chrono::microseconds(3);
  static constexpr auto kSlice = std::chrono::milliseconds(1);

 private:
  unsigned vain_ = 0;
  unsigned limit_ = kMany;
};

}  // namespace iwarp::rdma_core
