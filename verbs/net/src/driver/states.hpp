// SPDX-License-Identifier: Apache-2.0
// The state machines of a driver. DriveMode says which thread reads the socket of a connection
// while nothing is posted; the other three say what the driver knows about its socket: input,
// output and FIN. Only the holder of the DriveLock changes a state. Any thread may read the mode
// and the states of input and output, and any thread may post in every mode.
//
// A CqFeed has a mode of its own, which follows the same table. When the feed changes its mode, it
// asks its connections to change theirs, and each connection decides for itself.
#pragma once

#include <array>
#include <atomic>
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

enum class InputState : std::uint8_t {
  kReads,     ///< the driver reads the socket, and a SocketSet reports all input
  kBuffered,  ///< the same, but the carrier also has input, which no SocketSet reports
  kHeld,      ///< a message waits; the driver reads at most what the stream stages behind it
  kEnded,     ///< the peer's FIN or an error has been read
};
inline std::string_view to_string(InputState state) { return bytes::name_of(state); }

enum class InputEvent : std::uint8_t {
  kHold,    ///< the stream waits
  kResume,  ///< the stream continues
  kBuffer,  ///< after a turn, the carrier has octets that the stream has not taken
  kDrain,   ///< the stream has taken all octets of the carrier
  kEnd,     ///< the peer's FIN has arrived, or the socket has failed
};
inline std::string_view to_string(InputEvent event) { return bytes::name_of(event); }

using InputEdge = bytes::Edge<InputState, InputEvent>;
// clang-format off
inline constexpr std::array kInputEdges{
    InputEdge{InputState::kReads, InputEvent::kHold, InputState::kHeld, "a message waits for a posted receive"},
    InputEdge{InputState::kReads, InputEvent::kBuffer, InputState::kBuffered, "the driver's turn ended before the stream consumed all octets"},
    InputEdge{InputState::kReads, InputEvent::kEnd, InputState::kEnded, "the FIN arrived, or the socket failed"},
    InputEdge{InputState::kBuffered, InputEvent::kHold, InputState::kHeld, "a message waits for a posted receive"},
    InputEdge{InputState::kBuffered, InputEvent::kDrain, InputState::kReads, "the stream consumed the octets in the driver's next turn"},
    InputEdge{InputState::kBuffered, InputEvent::kEnd, InputState::kEnded, "the FIN arrived, or the socket failed"},
    InputEdge{InputState::kHeld, InputEvent::kResume, InputState::kReads, "a receive was posted"},
    InputEdge{InputState::kHeld, InputEvent::kEnd, InputState::kEnded, "the socket failed"},
    InputEdge{InputState::kEnded, InputEvent::kEnd, InputState::kEnded, "the socket failed after the end of input"},
};
// clang-format on
static_assert(bytes::deterministic(kInputEdges));
static_assert(bytes::all_reachable(kInputEdges, InputState::kReads));

enum class OutputState : std::uint8_t {
  kIdle,     ///< all output has been sent
  kBlocked,  ///< the socket buffer is full
  kMore,     ///< the turn has sent as much as one turn may; the next turn continues
};
inline std::string_view to_string(OutputState state) { return bytes::name_of(state); }

enum class OutputEvent : std::uint8_t {
  kFull,      ///< the socket has accepted only a part
  kRoom,      ///< the socket has room again
  kTurnOver,  ///< a turn has sent its share
  kNextTurn,  ///< a turn begins to send
  kLost,      ///< the socket has failed
};
inline std::string_view to_string(OutputEvent event) { return bytes::name_of(event); }

using OutputEdge = bytes::Edge<OutputState, OutputEvent>;
// clang-format off
inline constexpr std::array kOutputEdges{
    OutputEdge{OutputState::kIdle, OutputEvent::kFull, OutputState::kBlocked, "the peer or the path is slower than this end"},
    OutputEdge{OutputState::kIdle, OutputEvent::kTurnOver, OutputState::kMore, "other sockets must get a turn"},
    OutputEdge{OutputState::kBlocked, OutputEvent::kRoom, OutputState::kIdle, "the peer has acknowledged octets"},
    OutputEdge{OutputState::kBlocked, OutputEvent::kLost, OutputState::kIdle, "the socket failed: nothing more can be sent"},
    OutputEdge{OutputState::kMore, OutputEvent::kNextTurn, OutputState::kIdle, "the next turn sends the remaining output"},
    OutputEdge{OutputState::kMore, OutputEvent::kLost, OutputState::kIdle, "the socket failed: nothing more can be sent"},
};
// clang-format on
static_assert(bytes::deterministic(kOutputEdges));
static_assert(bytes::all_reachable(kOutputEdges, OutputState::kIdle));

enum class FinState : std::uint8_t {
  kOpen,    ///< this end may still send
  kWanted,  ///< the FIN follows the output that is pending
  kSent,
};
inline std::string_view to_string(FinState state) { return bytes::name_of(state); }

enum class FinEvent : std::uint8_t {
  kClose,  ///< verbs::SocketAction::kShutdownSend
  kDrain,  ///< the socket has accepted all output
};
inline std::string_view to_string(FinEvent event) { return bytes::name_of(event); }

using FinEdge = bytes::Edge<FinState, FinEvent>;
inline constexpr std::array kFinEdges{
    FinEdge{FinState::kOpen, FinEvent::kClose, FinState::kWanted, "RFC 5040 6.2.1"},
    FinEdge{FinState::kWanted, FinEvent::kDrain, FinState::kSent, "RFC 5044 7.1.2"},
};
static_assert(bytes::deterministic(kFinEdges));
static_assert(bytes::all_reachable(kFinEdges, FinState::kOpen));

}  // namespace iwarp::net
