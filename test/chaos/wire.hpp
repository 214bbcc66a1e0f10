// SPDX-License-Identifier: Apache-2.0
// One direction of a simulated TCP connection. Delivers octets in order, delays each segment, and
// has at most one network fault.
#pragma once

#include <deque>

#include "iwarp/sim/pair.hpp"
#include "judge/generated/random.hpp"
#include "plans/plan.hpp"

namespace iwarp::chaos {

class Wire : public sim::Direction {
 public:
  Wire(sim::Driver& sender, sim::Driver& receiver, const Session& session, std::uint8_t from,
       std::uint64_t seed)
      : Direction(sender, receiver),
        max_segment_(session.max_segment),
        max_delay_(session.max_delay),
        stall_(session.stalls[from]),
        random_(seed) {
    if (session.wreck.from == from) wreck_ = session.wreck;
  }

  /// Returns how many octets the sender's TCP accepts now.
  std::size_t window() { return random_.between(1, max_segment_); }
  /// Ends a segment: delays all octets put since the previous segment.
  void end_segment(std::uint64_t turn);
  /// Returns how many of the octets in flight have arrived.
  std::size_t due(std::uint64_t turn);
  /// Returns whether the receiver has consumed the last octet before the FIN, or the network has
  /// cut the connection.
  bool ends_here() const { return cut_ || (fin && in_flight().empty()); }
  bool is_empty() const { return cut_ || in_flight().empty(); }
  bool breaks() const;

  /// Returns whether the planned bit flip (Wreck::Kind::kFlip) is due in the next `n` octets that
  /// are put, and sets `at` to its position. Counts only octets that the fault may change.
  bool flips_now(std::size_t n, std::size_t& at);
  bool flips_payload_only = false;
  const Wreck& wreck() const { return wreck_; }

 private:
  struct Segment {
    std::uint64_t turn;
    std::size_t end;
  };
  /// Returns the size of the startup frame, or nullopt if it is not known yet.
  std::optional<std::size_t> startup() const;
  bool beyond_startup(std::uint64_t octets) const;

  std::size_t max_segment_;
  std::size_t max_delay_;
  Stall stall_;
  std::uint64_t stalled_until_ = 0;
  Wreck wreck_;
  bool flipped_ = false;
  bool cut_ = false;
  std::uint64_t counted_ = 0;  ///< number of octets so far that the fault may change
  std::deque<Segment> segments_;
  Random random_;
};

}  // namespace iwarp::chaos
