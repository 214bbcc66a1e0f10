// SPDX-License-Identifier: Apache-2.0
// Decides what the CM does with an event of a connection, and which ends of connections still have
// to wait. These functions only look at their arguments; cm/events.cpp does what they return.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"

namespace iwarp::rdma_core {

/// An event of a queue pair that rdma_cm connects, and what the event meets.
struct Happened {
  net::CmEvent::Type type = net::CmEvent::Type::kEstablished;
  bool has_id = true;  ///< false if the program destroyed the id during the set-up
  bool disconnect_wanted = false;
  bool has_unpolled = false;  ///< the program has not polled the completions of all receives
};

struct Reaction {
  enum class Report : std::uint8_t {
    kNone,
    kNow,
    /// after the program has polled the completions of its receives
    kAfterPolls,
  };
  Report report = Report::kNone;
  /// The completions that may be pushed to the completion queues after the report; nullopt if they
  /// have to wait for the report. Flushed completions are pushed only after the event that reports
  /// the end of the connection.
  std::optional<verbs::Announce> announce;
  bool is_last = false;  ///< the id gets no more events of the queue pair
  bool closes = false;   ///< closes the connection, which the program does not want any more

  bool operator==(const Reaction&) const = default;
};

/// Programs expect to poll the completions of their receives before they read DISCONNECTED, because
/// an adapter reports the end of a connection only milliseconds after the last message. For
/// example, libfabric programs destroy the queue pair when they read DISCONNECTED, and lose the
/// completions that they have not polled.
/// [RCM-136, RCM-338, RCM-339]
constexpr Reaction react(const Happened& what) {
  using Type = net::CmEvent::Type;
  using Report = Reaction::Report;
  const bool established = what.type == Type::kEstablished;
  if (!what.has_id) {
    return {.announce = verbs::Announce::kAll, .is_last = true, .closes = established};
  }
  if (established) {
    return {.report = Report::kNow,
            .announce = verbs::Announce::kUnflushed,
            .closes = what.disconnect_wanted};
  }
  if (what.type == Type::kDisconnected && what.has_unpolled) {
    return {.report = Report::kAfterPolls, .is_last = true};
  }
  return {.report = Report::kNow, .announce = verbs::Announce::kAll, .is_last = true};
}

/// An event in Cm::endings.
struct PendingEvent {
  std::uint16_t own_port = 0;
  bool is_request = false;    ///< a connection request; otherwise the end of a connection
  bool has_unpolled = false;  ///< as in Happened
  std::chrono::steady_clock::time_point at_latest;
};

struct Waits {
  std::vector<bool> waits;  ///< for each event, whether it still has to wait
  /// when the first of the waiting ends is due
  std::chrono::steady_clock::time_point next = std::chrono::steady_clock::time_point::max();
};

/// The end of a connection waits for the program's polls, but not longer than until its deadline. A
/// request waits while the end of an earlier connection to its port waits.
inline Waits waits_of(std::span<const PendingEvent> events,
                      std::chrono::steady_clock::time_point now) {
  Waits out;
  std::vector<std::uint16_t> held;  // the ports of the events that wait
  for (const PendingEvent& event : events) {
    const bool waits = event.is_request ? std::ranges::count(held, event.own_port) != 0
                                        : event.has_unpolled && now < event.at_latest;
    out.waits.push_back(waits);
    if (!waits) continue;
    held.push_back(event.own_port);
    if (!event.is_request) out.next = std::min(out.next, event.at_latest);
  }
  return out;
}

}  // namespace iwarp::rdma_core
