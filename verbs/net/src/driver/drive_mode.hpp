// SPDX-License-Identifier: Apache-2.0
// DriveMode says which thread reads the socket of a connection while nothing is posted. The table
// kDriveEdges lists the transitions. Only the holder of the connection's DriveLock changes the
// mode. Any thread may read the mode, and any thread may post in every mode. A CqFeed has a mode of
// its own, which follows the same table. When the feed changes its mode, it asks its connections to
// change theirs, and each connection decides for itself.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::net {

enum class DriveMode : std::uint8_t {
  kWorker,   ///< the worker reads the socket when its reactor wakes it
  kPoller,   ///< a thread that polls the empty queue reads the socket; the worker sleeps
  kSleeper,  ///< the socket wakes a thread that sleeps on a completion channel; the worker sleeps
};
inline std::string_view to_string(DriveMode mode) { return bytes::name_of(mode); }

enum class DriveCause : std::uint8_t {
  kPolled,   ///< from the CqFeed: the application polls frequently
  kSleptOn,  ///< from the CqFeed: the socket wakes a thread that sleeps on the channel
  kLetGo,    ///< from the CqFeed: for a while, no thread has polled or woken up
  /// from the connection: its stream waits for a posted receive or has ended, so the socket would
  /// not wake the sleeping thread in time
  kNotReadable,
};
inline std::string_view to_string(DriveCause cause) { return bytes::name_of(cause); }

using DriveEdge = bytes::Edge<DriveMode, DriveCause>;

// A connection has up to two completion queues, whose feeds act independently: one feed may ask for
// a mode that the connection has already entered for the other feed.
// clang-format off
inline constexpr std::array kDriveEdges{
    DriveEdge{DriveMode::kWorker, DriveCause::kPolled, DriveMode::kPoller, "a thread polls frequently"},
    DriveEdge{DriveMode::kWorker, DriveCause::kSleptOn, DriveMode::kSleeper, "a thread often sleeps on the completion channel, but only briefly"},
    DriveEdge{DriveMode::kWorker, DriveCause::kLetGo, DriveMode::kWorker, "the connection's other completion queue had already returned the connection to the worker"},
    DriveEdge{DriveMode::kPoller, DriveCause::kPolled, DriveMode::kPoller, "a thread also polls the connection's other completion queue"},
    DriveEdge{DriveMode::kPoller, DriveCause::kSleptOn, DriveMode::kSleeper, "a thread often sleeps on the completion channel, but only briefly"},
    DriveEdge{DriveMode::kPoller, DriveCause::kLetGo, DriveMode::kWorker, "polling stopped, or the completion queue was armed"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kPolled, DriveMode::kSleeper, "a thread polls between two sleeps"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kSleptOn, DriveMode::kSleeper, "a thread also sleeps on the channel of the connection's other completion queue"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kLetGo, DriveMode::kWorker, "no thread polled or woke up for a while"},
    DriveEdge{DriveMode::kSleeper, DriveCause::kNotReadable, DriveMode::kWorker, "the stream waits for an event that epoll cannot report, such as a posted receive"},
};
// clang-format on

/// Returns whether a thread will do unfinished work even if the driver does not post the work to
/// the worker. In kPoller the polling thread does that work; in kSleeper, the thread that the
/// socket wakes does it. The CqFeed checks regularly that this thread is active, and gives the
/// connection to the worker if it is not.
constexpr bool is_followed(DriveMode mode) { return mode != DriveMode::kWorker; }

static_assert(bytes::deterministic(kDriveEdges));
static_assert(bytes::all_reachable(kDriveEdges, DriveMode::kWorker));

}  // namespace iwarp::net
