// SPDX-License-Identifier: Apache-2.0
// Ends: the states of both ends of a connection, as far as an observer can tell: MPA startup, the
// RDMAP stream and the queue pair, each by its own table of edges. A frame changes its sender and
// its receiver at the time of its capture. What only an end itself knows (posted work, a decision
// before its Reply) is not seen.
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
  std::optional<rdmap::StreamState> stream;  ///< none before full operation
  verbs::QpState qp = verbs::QpState::kIdle;
  bool operator==(const EndStates&) const = default;
};

/// One step of one machine of one end.
struct StateChange {
  Side side;
  const char* machine;  ///< "MPA startup", "RDMAP stream", "queue pair"
  std::string_view from;
  std::string_view event;
  std::string_view to;
  const char* rule;  ///< the rule in the table
};

class Ends {
 public:
  /// Returns what the frame changes, in order. If the startup was not seen, both ends count as in
  /// full operation from the beginning, which is no change.
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
  std::vector<StateChange> changes_;
};

}  // namespace iwarp::apps::frames
