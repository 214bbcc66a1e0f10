// SPDX-License-Identifier: Apache-2.0
// Link: the simulated link between the two ends. It stores every segment that the ends have sent,
// and how much of the segment has arrived. It also keeps segments that have arrived, so that the
// session can be exported as a capture.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "iwarp/verbs/wire_tap.hpp"
#include "lab/action.hpp"

namespace iwarp::apps::lab {

using mpa::TimePoint;

inline std::int64_t nanoseconds(TimePoint at) {
  return std::chrono::nanoseconds(at.time_since_epoch()).count();
}

struct Segment {
  enum class Kind : std::uint8_t { kOctets, kFin, kReset };
  Kind kind = Kind::kOctets;
  Side from = Side::kNear;
  std::uint64_t offset = 0;  ///< offset of the first octet in the sender's stream
  std::vector<std::byte> octets;
  std::size_t arrived = 0;  ///< number of octets of this segment that have arrived
  bool over = false;        ///< whether the segment has arrived completely or was lost
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

  void send(Side from, std::vector<std::byte> octets, TimePoint now);
  void finish(Side from, bool reset, TimePoint now);
  /// Cuts the link and discards all octets in flight. After this, the session sends nothing into
  /// the link.
  void cut();
  bool is_cut() const { return cut_; }
  bool is_full() const { return size_ >= kMost; }

  /// Returns the segment that arrives next, or null if nothing is in flight. Segments arrive one at
  /// a time: if a segment has arrived in part, it is the next one; otherwise the next one is the
  /// segment that is due first.
  Segment* next();
  /// Returns the octet at `offset` in the stream from `from`, or null if this octet is not in
  /// flight.
  std::byte* in_flight(Side from, std::uint64_t offset);
  TimePoint due(const Segment& segment) const { return segment.due + time_of(segment.arrived); }

  const std::vector<Segment>& segments() const { return segments_; }
  std::uint64_t sent(Side from) const { return at(from).sent; }
  std::uint64_t arrived(Side from) const;

  /// Replays all traffic of both ends into `tap`, as a tap at the initiator's end would see it.
  void replay(verbs::WireTap& tap) const;

 private:
  struct Direction {
    std::uint64_t sent = 0;
    /// Index in segments_ from which first_of() searches. All earlier segments of this direction
    /// have arrived or were lost.
    std::size_t first = 0;
    TimePoint free;  ///< time from which the sender can send the next segment
    bool finished = false;
  };
  Direction& at(Side from) { return directions_[static_cast<std::size_t>(from)]; }
  const Direction& at(Side from) const { return directions_[static_cast<std::size_t>(from)]; }
  void add(Segment segment);
  Segment* first_of(Side from);

  std::vector<Segment> segments_;  ///< all segments, in the order in which they were sent
  std::array<Direction, 2> directions_;
  std::size_t size_ = 0;
  bool cut_ = false;
};

}  // namespace iwarp::apps::lab
