// SPDX-License-Identifier: Apache-2.0
// The link between the two ends: the segments that each has sent, and how much of them has arrived.
// It keeps all of them, so that the session can be written as a capture.
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
  std::uint64_t offset = 0;  ///< of its first octet in the stream of that end
  std::vector<std::byte> octets;
  std::size_t arrived = 0;  ///< number of its octets that have arrived
  bool over = false;        ///< it has arrived completely, or is lost
  TimePoint sent;
  TimePoint due;  ///< when its first octet arrives
};

class Link {
 public:
  /// Maximum number of octets that are kept; beyond it the link accepts no more.
  static constexpr std::size_t kMost = 4 * 1024 * 1024;
  static constexpr auto kLatency = std::chrono::microseconds(10);
  /// Returns the time that they take at 1 Gbit/s.
  static constexpr mpa::Duration time_of(std::size_t octets) {
    return std::chrono::nanoseconds(8) * static_cast<mpa::Duration::rep>(octets);
  }

  void send(Side from, std::vector<std::byte> octets, TimePoint now);
  void finish(Side from, bool reset, TimePoint now);
  /// Drops all octets in flight, and accepts no more.
  void cut();
  bool is_cut() const { return cut_; }
  bool is_full() const { return size_ >= kMost; }

  /// Returns the segment that has begun to arrive, else the one that is due first: segments arrive
  /// one by one, even those of both directions. Null: nothing is in flight.
  Segment* next();
  /// Returns the octet at that place of the stream if it is in flight, else null.
  std::byte* in_flight(Side from, std::uint64_t offset);
  TimePoint due(const Segment& segment) const { return segment.due + time_of(segment.arrived); }

  const std::vector<Segment>& segments() const { return segments_; }
  std::uint64_t sent(Side from) const { return at(from).sent; }
  std::uint64_t arrived(Side from) const;

  /// Replays everything that was sent to a tap at the initiator's end.
  void replay(verbs::WireTap& tap) const;

 private:
  struct Direction {
    std::uint64_t sent = 0;
    std::size_t first = 0;  ///< index in segments_; no earlier one of this direction is in flight
    TimePoint free;         ///< when all earlier octets have been sent
    bool finished = false;
  };
  Direction& at(Side from) { return directions_[static_cast<std::size_t>(from)]; }
  const Direction& at(Side from) const { return directions_[static_cast<std::size_t>(from)]; }
  void add(Segment segment);
  Segment* first_of(Side from);

  std::vector<Segment> segments_;  ///< in the order in which they were sent
  std::array<Direction, 2> directions_;
  std::size_t size_ = 0;
  bool cut_ = false;
};

}  // namespace iwarp::apps::lab
