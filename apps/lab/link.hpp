// SPDX-License-Identifier: Apache-2.0
// Link: the simulated link between the two ends, as a list of all segments that the ends have sent.
// Segments that have arrived remain in the list, so that the session can be exported as a capture.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "iwarp/sim/pair.hpp"
#include "lab/action.hpp"

namespace iwarp::apps::lab {

using sim::TimePoint;

inline std::int64_t nanoseconds(TimePoint at) {
  return std::chrono::nanoseconds(at.time_since_epoch()).count();
}

struct Segment {
  enum class Kind : std::uint8_t { kOctets, kFin, kReset };
  Kind kind = Kind::kOctets;
  Side from = Side::kNear;
  std::size_t offset = 0;  ///< offset of the first octet in the sender's stream
  std::size_t size = 0;    ///< number of octets; 0 for a FIN or a reset
  TimePoint sent;
  TimePoint due;  ///< time at which the first octet arrives
};

class Link {
 public:
  /// Maximum number of octets that the link stores. When the link is full, Session performs no
  /// further action.
  static constexpr std::size_t kMost = 4 * 1024 * 1024;
  static constexpr auto kLatency = std::chrono::microseconds(10);
  /// Returns how long it takes to send `octets` octets at 1 Gbit/s.
  static constexpr mpa::Duration time_of(std::size_t octets) {
    return std::chrono::nanoseconds(8) * static_cast<mpa::Duration::rep>(octets);
  }

  /// `near` and `far` must outlive the link.
  Link(sim::Driver& near, sim::Driver& far)
      : ways_{sim::Direction(near, far), sim::Direction(far, near)} {}

  /// Sends the octets that the connection of `from` has ready, one FPDU per segment. If there are
  /// none, sends the FIN or the reset that it requests. Returns whether octets were sent.
  bool pump(Side from, TimePoint now);
  /// Delivers the next `octets` octets of this segment, or the FIN or reset. If the receiver no
  /// longer reads, discards the octets, as TCP would.
  void arrive(const Segment& segment, std::size_t octets);
  /// Cuts the link. The octets in flight never arrive, and the ends send nothing more.
  void cut() { cut_ = true; }
  bool is_cut() const { return cut_; }
  bool is_full() const { return sent(Side::kNear) + sent(Side::kFar) >= kMost; }

  /// Returns the segment that arrives next, or null if nothing is in flight. Segments arrive one at
  /// a time: if a segment has arrived in part, it is the next one; otherwise the next one is the
  /// segment that is due first.
  const Segment* next();
  /// Returns the octet at `offset` in the stream from `from`, or null if this octet is not in
  /// flight.
  std::byte* in_flight(Side from, std::size_t offset);
  /// Returns whether the segment has arrived completely or was lost.
  bool is_over(const Segment& segment) const;
  TimePoint due(const Segment& segment) const { return segment.due + time_of(arrived(segment)); }

  const std::vector<Segment>& segments() const { return segments_; }
  std::size_t sent(Side from) const { return at(from).log.size(); }
  std::size_t arrived(Side from) const { return at(from).arrived; }
  /// Returns how many octets of this segment have arrived.
  std::size_t arrived(const Segment& segment) const;

  /// Replays all traffic of both ends into `tap`, as a tap at the initiator's end would see it.
  void replay(verbs::WireTap& tap) const;

 private:
  const sim::Direction& at(Side from) const { return ways_[static_cast<std::size_t>(from)]; }
  sim::Direction& at(Side from) { return ways_[static_cast<std::size_t>(from)]; }
  const Segment* first_of(Side from);

  std::array<sim::Direction, 2> ways_;
  std::vector<Segment> segments_;  ///< all segments, in the order in which they were sent
  /// For each direction: the index in segments_ from which first_of() searches. All earlier
  /// segments of this direction are over.
  std::array<std::size_t, 2> first_{};
  std::array<TimePoint, 2> free_;  ///< time from which each end can send the next segment
  bool cut_ = false;
};

}  // namespace iwarp::apps::lab
