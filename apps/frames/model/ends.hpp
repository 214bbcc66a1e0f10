// SPDX-License-Identifier: Apache-2.0
// Ends: the states of both ends of a connection, as far as an observer can derive them. There are
// three state machines, each with its own table of edges: MPA startup, the RDMAP stream and the
// queue pair. A frame changes the states of its sender and its receiver at the time of its capture.
// Actions that do not appear on the wire are not visible: for example posting work, or the decision
// on a Request before the Reply is sent.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "frames/connections/connections.hpp"
#include "iwarp/mpa/startup_fsm.hpp"
#include "iwarp/rdmap/stream_fsm.hpp"
#include "iwarp/verbs/qp_fsm.hpp"

namespace iwarp::apps::frames {

struct EndStates {
  mpa::StartupState startup = mpa::StartupState::kIdle;
  std::optional<rdmap::StreamState> stream;  ///< empty before full operation begins
  verbs::QpState qp = verbs::QpState::kIdle;
  bool operator==(const EndStates&) const = default;
};

/// A state change of one of the state machines of one end.
struct StateChange {
  Side side;
  /// Name of the state machine: "MPA startup", "RDMAP stream" or "queue pair".
  const char* machine;
  std::string_view from;
  std::string_view event;
  std::string_view to;
  const char* rule;  ///< the rule for this edge, from the state table
};

class Ends {
 public:
  /// see() returns the changes that a frame causes, in order; closed() returns the changes that the
  /// end of the connection causes. The result is valid until the next call. If the startup frames
  /// were not captured, both ends are set to full operation, without reporting this as a change.
  const std::vector<StateChange>& see(const Explained& explained);
  const std::vector<StateChange>& closed(const Closed& closed);

  const EndStates& of(Side side) const { return ends_[static_cast<std::size_t>(side)]; }

 private:
  EndStates& end(Side side) { return ends_[static_cast<std::size_t>(side)]; }
  void startup(Side side, mpa::StartupEvent event);
  void stream(Side side, rdmap::StreamEvent event);
  void queue_pair(Side side, verbs::QpEvent event);
  void request(Side from);
  void reply(Side from, bool rejected);
  void terminate(Side from);
  void full_operation(Side side);

  std::array<EndStates, 2> ends_;
  std::array<bool, 2> has_bad_frame_{};  ///< whether the end has received an FPDU with a wrong CRC
  std::vector<StateChange> changes_;
};

}  // namespace iwarp::apps::frames
