// SPDX-License-Identifier: Apache-2.0
// The state machines of a driver. DriveMode says which thread reads the socket of a connection
// while nothing is posted; the other three say what the driver knows about its socket: input,
// output and FIN. Only the holder of the DriveLock changes a state. Any thread may read the mode
// and the states of input and output, and any thread may post in every mode.
//
// A CqFeed has a mode of its own, which follows the same table. When the feed changes its mode, it
// asks its connections to change theirs, and each connection decides for itself.
#pragma once

#include <cstdint>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::net {

enum class DriveMode : std::uint8_t {
  kWorker,   ///< the worker reads the socket when its reactor wakes it
  kPoller,   ///< a thread that polls the empty queue reads the socket; the worker sleeps
  kSleeper,  ///< the socket wakes a thread that sleeps on a completion channel; the worker sleeps
};

enum class DriveCause : std::uint8_t {
  kPolled,   ///< from the CqFeed: the application polls frequently
  kSleptOn,  ///< from the CqFeed: the socket wakes a thread that sleeps on the channel
  kLetGo,    ///< from the CqFeed: for a while, no thread has polled or woken up
  /// from the connection: its stream waits for a posted receive or has ended, so the socket would
  /// not wake the sleeping thread in time
  kNotReadable,
};

// A connection has up to two completion queues, whose feeds act independently: one feed may ask for
// a mode that the connection has already entered for the other feed.
// clang-format off
inline constexpr auto kDriveEdges = bytes::machine<DriveMode::kWorker, DriveCause>({
    {DriveMode::kWorker, DriveCause::kPolled, DriveMode::kPoller, "a thread polls frequently"},
    {DriveMode::kWorker, DriveCause::kSleptOn, DriveMode::kSleeper, "a thread often sleeps on the completion channel, but only briefly"},
    {DriveMode::kWorker, DriveCause::kLetGo, DriveMode::kWorker, "the connection's other completion queue had already returned the connection to the worker"},
    {DriveMode::kPoller, DriveCause::kPolled, DriveMode::kPoller, "a thread also polls the connection's other completion queue"},
    {DriveMode::kPoller, DriveCause::kSleptOn, DriveMode::kSleeper, "a thread often sleeps on the completion channel, but only briefly"},
    {DriveMode::kPoller, DriveCause::kLetGo, DriveMode::kWorker, "polling stopped, or the completion queue was armed"},
    {DriveMode::kSleeper, DriveCause::kPolled, DriveMode::kSleeper, "a thread polls between two sleeps"},
    {DriveMode::kSleeper, DriveCause::kSleptOn, DriveMode::kSleeper, "a thread also sleeps on the channel of the connection's other completion queue"},
    {DriveMode::kSleeper, DriveCause::kLetGo, DriveMode::kWorker, "no thread polled or woke up for a while"},
    {DriveMode::kSleeper, DriveCause::kNotReadable, DriveMode::kWorker, "the stream waits for an event that epoll cannot report, such as a posted receive"},
});
// clang-format on

/// Returns whether a thread will do unfinished work even if the driver does not post the work to
/// the worker. In kPoller the polling thread does that work; in kSleeper, the thread that the
/// socket wakes does it. The CqFeed checks regularly that this thread is active, and gives the
/// connection to the worker if it is not.
constexpr bool is_followed(DriveMode mode) { return mode != DriveMode::kWorker; }

enum class InputState : std::uint8_t {
  kReads,     ///< the driver reads the socket, and a SocketSet reports all input
  kBuffered,  ///< the same, but the carrier also has input, which no SocketSet reports
  kHeld,      ///< a message waits; the driver reads at most what the stream stages behind it
  kEnded,     ///< the peer's FIN or an error has been read
};

enum class InputEvent : std::uint8_t {
  kHold,    ///< the stream waits
  kResume,  ///< the stream continues
  kBuffer,  ///< after a turn, the carrier has octets that the stream has not taken
  kDrain,   ///< the stream has taken all octets of the carrier
  kEnd,     ///< the peer's FIN has arrived, or the socket has failed
};

// clang-format off
inline constexpr auto kInputEdges = bytes::machine<InputState::kReads, InputEvent>({
    {InputState::kReads, InputEvent::kHold, InputState::kHeld, "a message waits for a posted receive"},
    {InputState::kReads, InputEvent::kBuffer, InputState::kBuffered, "the driver's turn ended before the stream consumed all octets"},
    {InputState::kReads, InputEvent::kEnd, InputState::kEnded, "the FIN arrived, or the socket failed"},
    {InputState::kBuffered, InputEvent::kHold, InputState::kHeld, "a message waits for a posted receive"},
    {InputState::kBuffered, InputEvent::kDrain, InputState::kReads, "the stream consumed the octets in the driver's next turn"},
    {InputState::kBuffered, InputEvent::kEnd, InputState::kEnded, "the FIN arrived, or the socket failed"},
    {InputState::kHeld, InputEvent::kResume, InputState::kReads, "a receive was posted"},
    {InputState::kHeld, InputEvent::kEnd, InputState::kEnded, "the socket failed"},
    {InputState::kEnded, InputEvent::kEnd, InputState::kEnded, "the socket failed after the end of input"},
});
// clang-format on

enum class OutputState : std::uint8_t {
  kIdle,     ///< all output has been sent
  kBlocked,  ///< the socket buffer is full
  kMore,     ///< the turn has sent as much as one turn may; the next turn continues
};

enum class OutputEvent : std::uint8_t {
  kFull,      ///< the socket has accepted only a part
  kRoom,      ///< the socket has room again
  kTurnOver,  ///< a turn has sent its share
  kNextTurn,  ///< a turn begins to send
  kLost,      ///< the socket has failed
};

// clang-format off
inline constexpr auto kOutputEdges = bytes::machine<OutputState::kIdle, OutputEvent>({
    {OutputState::kIdle, OutputEvent::kFull, OutputState::kBlocked, "the peer or the path is slower than this end"},
    {OutputState::kIdle, OutputEvent::kTurnOver, OutputState::kMore, "other sockets must get a turn"},
    {OutputState::kBlocked, OutputEvent::kRoom, OutputState::kIdle, "the peer has acknowledged octets"},
    {OutputState::kBlocked, OutputEvent::kLost, OutputState::kIdle, "the socket failed: nothing more can be sent"},
    {OutputState::kMore, OutputEvent::kNextTurn, OutputState::kIdle, "the next turn sends the remaining output"},
    {OutputState::kMore, OutputEvent::kLost, OutputState::kIdle, "the socket failed: nothing more can be sent"},
});
// clang-format on

enum class FinState : std::uint8_t {
  kOpen,    ///< this end may still send
  kWanted,  ///< the FIN follows the output that is pending
  kSent,
};

enum class FinEvent : std::uint8_t {
  kClose,  ///< verbs::SocketAction::kShutdownSend
  kDrain,  ///< the socket has accepted all output
};

inline constexpr auto kFinEdges = bytes::machine<FinState::kOpen, FinEvent>({
    {FinState::kOpen, FinEvent::kClose, FinState::kWanted, "RFC 5040 6.2.1"},
    {FinState::kWanted, FinEvent::kDrain, FinState::kSent, "RFC 5044 7.1.2"},
});

}  // namespace iwarp::net
