// SPDX-License-Identifier: Apache-2.0
// Who reads the socket of a connection when nothing is posted, as a table. Data only; the holder of
// the connection's DriveLock alone changes it, and anybody may ask. Posting is everybody's right in
// each of them. A CqFeed keeps a mode by the same table, which is what it asks its connections for;
// each connection decides.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::net {

enum class DriveMode : std::uint8_t {
  kWorker,   ///< the worker, woken by its reactor
  kPoller,   ///< a thread that polls an empty completion queue all the time; the worker sleeps
  kSleeper,  ///< a thread that sleeps on the socket through a completion channel; the worker sleeps
};
std::string_view to_string(DriveMode mode);

enum class DriveCause : std::uint8_t {
  kPolled,       ///< by the CqFeed: polls come one after the other
  kSleptOn,      ///< by the CqFeed: its channel's descriptor is woken by the socket
  kLetGo,        ///< by the CqFeed: nobody has polled or come back from sleep for a while
  kNotReadable,  ///< by the connection: held or at its end, so the socket wakes nobody in time
};
std::string_view to_string(DriveCause cause);

inline constexpr std::array kDriveModes{DriveMode::kWorker, DriveMode::kPoller,
                                        DriveMode::kSleeper};
inline constexpr std::array kDriveCauses{DriveCause::kPolled, DriveCause::kSleptOn,
                                         DriveCause::kLetGo, DriveCause::kNotReadable};

using DriveEdge = bytes::Edge<DriveMode, DriveCause>;

// A connection feeds up to two queues, which know nothing of each other: so each may ask for what
// the other has brought about.
// clang-format off
inline constexpr std::array kDriveEdges{
    DriveEdge{DriveMode::kWorker, DriveCause::kPolled, DriveMode::kPoller, "polls are frequent"},
    DriveEdge{DriveMode::kWorker, DriveCause::kSleptOn, DriveMode::kSleeper, "sleeps are short"},
    DriveEdge{DriveMode::kWorker, DriveCause::kLetGo, DriveMode::kWorker, "the other queue let go before"},
    DriveEdge{DriveMode::kPoller, DriveCause::kPolled, DriveMode::kPoller, "the other queue is polled, too"},
    DriveEdge{DriveMode::kPoller, DriveCause::kSleptOn, DriveMode::kSleeper, "sleeps are short"},
    DriveEdge{DriveMode::kPoller, DriveCause::kLetGo, DriveMode::kWorker, "polls stopped, or the queue was armed"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kPolled, DriveMode::kSleeper, "polls come between sleeps"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kSleptOn, DriveMode::kSleeper, "the other queue is on the channel, too"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kLetGo, DriveMode::kWorker, "slept long, or came not back"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kNotReadable, DriveMode::kWorker, "a timer or the consumer goes on"},
};
// clang-format on

/// In the other modes the CqFeed that brought them about polls, wakes its sleeper or lets go, and
/// looks again and again which of these is due. So what is left to do is done without being sent.
constexpr bool is_followed(DriveMode mode) { return mode != DriveMode::kWorker; }

static_assert(bytes::deterministic(kDriveEdges));
static_assert(bytes::all_reachable(kDriveEdges, DriveMode::kWorker));

}  // namespace iwarp::net
