// SPDX-License-Identifier: Apache-2.0
// The state machine of a connection, from set-up to the end of TCP, as a table. Data only;
// Connection runs the machine. The stream and the queue pair have state machines of their own
// (stream_fsm.hpp, qp_fsm.hpp). The states of this machine determine what may be sent, and when TCP
// is closed.
#pragma once

#include <cstdint>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::verbs {

enum class ConnectionState : std::uint8_t {
  kStartup,       ///< set-up: MPA Request and Reply are exchanged
  kGated,         ///< MPA is in full operation, but nothing may be sent yet [MPA-93]
  kGatedClosing,  ///< same as kGated, but a close was requested
  kOpen,          ///< segments may be sent and received
  /// a close was requested; the posted requests are sent before the FIN [DDP-56] [RDMAP-88]
  kDraining,
  kHalfClosed,   ///< this end's FIN is due or sent; octets that arrive are accepted [DDP-61]
  kTerminating,  ///< the stream has ended; only this end's Terminate is still sent
  kTerminated,   ///< after a Terminate, this end's FIN is due or sent [RDMAP-88] [RDMAP-90]
  kOver,         ///< the driver has to close or reset TCP
};
constexpr bool is_gated(ConnectionState state) {
  return state == ConnectionState::kGated || state == ConnectionState::kGatedClosing;
}
/// Returns whether the stream has ended, even if part of its output is still to be sent.
constexpr bool has_ended(ConnectionState state) {
  return state == ConnectionState::kTerminating || state == ConnectionState::kTerminated ||
         state == ConnectionState::kOver;
}

enum class ConnectionCause : std::uint8_t {
  kFullOperation,  ///< MPA is in full operation
  kGateOpened,     ///< responder: a valid FPDU arrived; initiator: first_fpdu_delay is over
  /// the application closes, or the peer's FIN arrived while no work was in flight
  kCloseRequested,
  kDrained,        ///< all posted work is finished and sent
  kStreamEnded,    ///< a Terminate of this end or of the peer ended the stream
  kTerminateLeft,  ///< this end's Terminate was sent; no output remains
  kClosed,  ///< the close is complete: both FINs were sent, or this end can send nothing more
  /// set-up failed, TCP was reset or timed out, the connection was aborted, or no Terminate can be
  /// sent
  kLost,
};

// clang-format off
inline constexpr auto kConnectionEdges = bytes::machine<ConnectionState::kStartup, ConnectionCause>({
    {ConnectionState::kStartup, ConnectionCause::kFullOperation, ConnectionState::kGated, "RFC 5044 7.1.1"},
    {ConnectionState::kStartup, ConnectionCause::kClosed, ConnectionState::kOver, "RFC 5044 7.1.2 (6)"},
    {ConnectionState::kStartup, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5044 7.1.3"},
    {ConnectionState::kGated, ConnectionCause::kGateOpened, ConnectionState::kOpen, "RFC 5044 7.1.2"},
    {ConnectionState::kGated, ConnectionCause::kCloseRequested, ConnectionState::kGatedClosing, "RFC 5040 6.2.1"},
    {ConnectionState::kGated, ConnectionCause::kStreamEnded, ConnectionState::kTerminating, "RFC 5040 7.1"},
    {ConnectionState::kGated, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
    {ConnectionState::kGatedClosing, ConnectionCause::kGateOpened, ConnectionState::kDraining, "RFC 5044 7.1.2"},
    {ConnectionState::kGatedClosing, ConnectionCause::kDrained, ConnectionState::kHalfClosed, "RFC 5041 6.2.1"},
    {ConnectionState::kGatedClosing, ConnectionCause::kStreamEnded, ConnectionState::kTerminating, "RFC 5040 7.1"},
    {ConnectionState::kGatedClosing, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
    {ConnectionState::kOpen, ConnectionCause::kCloseRequested, ConnectionState::kDraining, "RFC 5040 6.2.1"},
    {ConnectionState::kOpen, ConnectionCause::kStreamEnded, ConnectionState::kTerminating, "RFC 5040 7.1"},
    {ConnectionState::kOpen, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
    {ConnectionState::kDraining, ConnectionCause::kDrained, ConnectionState::kHalfClosed, "RFC 5041 6.2.1"},
    {ConnectionState::kDraining, ConnectionCause::kStreamEnded, ConnectionState::kTerminating, "RFC 5040 7.1"},
    {ConnectionState::kDraining, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
    {ConnectionState::kHalfClosed, ConnectionCause::kStreamEnded, ConnectionState::kTerminated, "verbs 6.2.5"},
    {ConnectionState::kHalfClosed, ConnectionCause::kClosed, ConnectionState::kOver, "RFC 5041 6.2.1"},
    {ConnectionState::kHalfClosed, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
    {ConnectionState::kTerminating, ConnectionCause::kTerminateLeft, ConnectionState::kTerminated, "RFC 5040 6.2.1"},
    {ConnectionState::kTerminating, ConnectionCause::kClosed, ConnectionState::kOver, "RFC 5044 7.1.2"},
    {ConnectionState::kTerminating, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
    {ConnectionState::kTerminated, ConnectionCause::kClosed, ConnectionState::kOver, "RFC 5041 6.2.1"},
    {ConnectionState::kTerminated, ConnectionCause::kLost, ConnectionState::kOver, "RFC 5040 6.2.2"},
});
// clang-format on

}  // namespace iwarp::verbs
