// SPDX-License-Identifier: Apache-2.0
// The names of the modes and causes, for the table in rfc-notes/fsm, which a test compares with
// kDriveEdges.
#include "driver/drive_mode.hpp"

namespace iwarp::net {
namespace {

constexpr std::array<std::string_view, kDriveModes.size()> kModeNames{"Worker", "Poller",
                                                                      "Sleeper"};
constexpr std::array<std::string_view, kDriveCauses.size()> kCauseNames{"Polled", "SleptOn",
                                                                        "LetGo", "NotReadable"};

}  // namespace

std::string_view to_string(DriveMode mode) { return kModeNames.at(static_cast<std::size_t>(mode)); }

std::string_view to_string(DriveCause cause) {
  return kCauseNames.at(static_cast<std::size_t>(cause));
}

}  // namespace iwarp::net
