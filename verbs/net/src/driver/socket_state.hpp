// SPDX-License-Identifier: Apache-2.0
// What a driver knows about its socket, as three state machines: input, output and FIN. Only the
// holder of the DriveLock changes a state. Threads without the lock read the states of input and
// output to decide whether the driver needs their work.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::net {

enum class InputState : std::uint8_t {
  kReads,     ///< the driver reads the socket, and a SocketSet reports all input
  kBuffered,  ///< the same, but the carrier also has input, which no SocketSet reports
  kHeld,      ///< the driver does not read the socket, usually because no receive is posted
  kEnded,     ///< the peer's FIN or an error has been read
};
inline std::string_view to_string(InputState state) { return bytes::name_of(state); }

enum class InputEvent : std::uint8_t {
  kHold,    ///< the stream takes no octets
  kResume,  ///< the stream takes octets again
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
