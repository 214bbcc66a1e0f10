// SPDX-License-Identifier: Apache-2.0
// The names of the driver's states and events, for the tables in rfc-notes/fsm, which a test
// compares with the tables of edges.
#include <utility>

#include "driver/drive_mode.hpp"
#include "driver/socket_state.hpp"

namespace iwarp::net {
namespace {

using Names = std::array<std::string_view, 5>;

constexpr Names kModes{"Worker", "Poller", "Sleeper"};
constexpr Names kCauses{"Polled", "SleptOn", "LetGo", "NotReadable"};
constexpr Names kInputs{"Reads", "Buffered", "Held", "Ended"};
constexpr Names kInputEventNames{"Hold", "Resume", "Buffer", "Drain", "End"};
constexpr Names kOutputs{"Idle", "Blocked", "More"};
constexpr Names kOutputEventNames{"Full", "Room", "TurnOver", "NextTurn", "Lost"};
constexpr Names kFins{"Open", "Wanted", "Sent"};
constexpr Names kFinEventNames{"Close", "Drain"};

}  // namespace

std::string_view to_string(DriveMode mode) { return kModes.at(std::to_underlying(mode)); }
std::string_view to_string(DriveCause cause) { return kCauses.at(std::to_underlying(cause)); }
std::string_view to_string(InputState state) { return kInputs.at(std::to_underlying(state)); }
std::string_view to_string(InputEvent event) {
  return kInputEventNames.at(std::to_underlying(event));
}
std::string_view to_string(OutputState state) { return kOutputs.at(std::to_underlying(state)); }
std::string_view to_string(OutputEvent event) {
  return kOutputEventNames.at(std::to_underlying(event));
}
std::string_view to_string(FinState state) { return kFins.at(std::to_underlying(state)); }
std::string_view to_string(FinEvent event) { return kFinEventNames.at(std::to_underlying(event)); }

}  // namespace iwarp::net
