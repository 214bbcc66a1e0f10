// SPDX-License-Identifier: Apache-2.0
// One direction of a simulated TCP connection. Delivers octets in order, delays each segment, and
// has at most one network fault.
#pragma once

#include <deque>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "plans/plan.hpp"
#include "random.hpp"

namespace iwarp::chaos {

class Wire {
 public:
  Wire() = default;
  Wire(const Session& session, std::uint8_t from, std::uint64_t seed)
      : max_segment_(session.max_segment),
        max_delay_(session.max_delay),
        stall_(session.stalls[from]),
        random_(seed) {
    if (session.wreck.from == from) wreck_ = session.wreck;
  }

  /// Returns how many octets the sender's TCP accepts now.
  std::size_t window() { return random_.between(1, max_segment_); }
  void push(bytes::View octets);
  void end_of_push(std::uint64_t turn);
  /// Returns the octets that have arrived. The receiver may consume only a part of them.
  bytes::View arrived(std::uint64_t turn);
  void taken(std::size_t n);
  /// Returns whether the receiver has consumed the last octet before the FIN, or the network has
  /// cut the connection.
  bool ends_here() const { return cut_ || (fin && head_ == buffer_.size()); }
  bool is_empty() const { return cut_ || head_ == buffer_.size(); }
  bool breaks() const;
  std::uint64_t pushed() const { return pushed_; }

  /// Returns whether the planned bit flip (Wreck::Kind::kFlip) is due in the next `n` octets that
  /// are pushed, and sets `at` to its position. Counts only octets that the fault may change.
  bool flips_now(std::size_t n, std::size_t& at);
  bool flips_payload_only = false;
  const Wreck& wreck() const { return wreck_; }
  bool has_flipped() const { return flipped_; }
  bool fin = false;
  bool fin_told = false;

 private:
  struct Segment {
    std::uint64_t turn;
    std::size_t end;
  };
  bool beyond_startup(std::uint64_t octets) const;

  std::size_t max_segment_ = 1000;
  std::size_t max_delay_ = 0;
  Stall stall_;
  std::uint64_t stalled_until_ = 0;
  Wreck wreck_;
  bool flipped_ = false;
  bool cut_ = false;
  std::uint64_t counted_ = 0;  ///< number of octets so far that the fault may change
  std::vector<std::byte> buffer_;
  std::size_t head_ = 0;
  std::deque<Segment> segments_;
  std::uint64_t pushed_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t startup_ = UINT64_MAX;  ///< size of the startup frame, once it is known
  std::vector<std::byte> first_;
  Random random_{0};
};

}  // namespace iwarp::chaos
