// SPDX-License-Identifier: Apache-2.0
// Deadlines: how long a connection in full operation waits for each event. Two deadlines are
// computed elsewhere: the deadline of set-up (mpa::Startup::timeout()), and the deadline of the
// peer's answer (Connection::answer_due()), which depends on when the peer last sent something.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "iwarp/verbs/connection_options.hpp"

namespace iwarp::verbs {

/// The events for which a connection waits. Deadlines that pass at the same time are handled in the
/// order of the enumerators.
enum class Deadline : std::uint8_t {
  /// a receive for a waiting Send; if the deadline passes, this end reports the wait or sends a
  /// Terminate [DDP-68]
  kReceive,
  kFirstFpdu,   ///< initiator: the end of first_fpdu_delay, before which it sends nothing
  kAckRequest,  ///< closing: the end of ack_request_wait, after which the close proceeds
  kRtr,         ///< responder: the arrival of the negotiated RTR
  kClose,       ///< the end of close_timeout, after which this end resets TCP [VRB-12]
};

class Deadlines {
 public:
  Deadlines() { clear_all(); }
  void set(Deadline deadline, TimePoint at) { at_[index(deadline)] = at; }
  void clear(Deadline deadline) { at_[index(deadline)] = kNever; }
  void clear_all() { at_.fill(kNever); }
  /// Returns when the deadline passes. Call only if is_set().
  TimePoint at(Deadline deadline) const { return at_[index(deadline)]; }
  bool is_set(Deadline deadline) const { return at_[index(deadline)] != kNever; }
  bool has_passed(Deadline deadline, TimePoint now) const { return at_[index(deadline)] <= now; }
  std::optional<TimePoint> first() const {
    const TimePoint first = std::ranges::min(at_);
    return first == kNever ? std::nullopt : std::optional(first);
  }

 private:
  static constexpr TimePoint kNever = TimePoint::max();
  static constexpr std::size_t kCount = static_cast<std::size_t>(Deadline::kClose) + 1;
  static constexpr std::size_t index(Deadline deadline) {
    return static_cast<std::size_t>(deadline);
  }
  std::array<TimePoint, kCount> at_;
};

}  // namespace iwarp::verbs
