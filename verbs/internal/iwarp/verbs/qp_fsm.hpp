// SPDX-License-Identifier: Apache-2.0
// The queue pair state machine of the RDMA verbs draft, section 6.2, as a table. [VRB-5]
#pragma once

#include <string_view>

#include "iwarp/bytes/fsm.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// What moves a queue pair from one state to the next.
enum class QpEvent : std::uint8_t {
  kConnected,          ///< MPA is in full operation
  kStreamError,        ///< this end terminates the stream for any reason
  kTerminateReceived,  ///< the peer's Terminate arrived
  kCloseRequested,     ///< the application closes the connection, and every posted request has been
                       ///< sent
  kPeerClosed,         ///< the peer's FIN arrived, and no work was outstanding
  kPeerClosedEarly,    ///< the peer's FIN arrived while work was outstanding
  kLowerLayerClosed,   ///< both directions of TCP are closed in order, or closing timed out
  kLowerLayerLost,     ///< TCP was reset or timed out, or the application aborted the connection
  kReset,              ///< the application returns the queue pair to Idle
};
/// Returns the event's name in words. Returns "unknown" for a value that is no QpEvent.
std::string_view to_string(QpEvent event);

inline constexpr auto kQpEdges = bytes::machine<QpState::kIdle, QpEvent>({
    {QpState::kIdle, QpEvent::kConnected, QpState::kRts, "verbs 6.2.1.2"},
    {QpState::kIdle, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.1"},
    {QpState::kIdle, QpEvent::kReset, QpState::kIdle, "verbs 6.2.1"},
    {QpState::kRts, QpEvent::kStreamError, QpState::kTerminate, "verbs 6.2.2.3"},
    {QpState::kRts, QpEvent::kTerminateReceived, QpState::kTerminate, "verbs 6.2.2.3"},
    {QpState::kRts, QpEvent::kPeerClosedEarly, QpState::kTerminate, "verbs 6.2.2.2"},
    {QpState::kRts, QpEvent::kCloseRequested, QpState::kClosing, "verbs 6.2.2.1"},
    {QpState::kRts, QpEvent::kPeerClosed, QpState::kClosing, "verbs 6.2.2.2"},
    {QpState::kRts, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.2.4"},
    {QpState::kTerminate, QpEvent::kStreamError, QpState::kTerminate, "verbs 6.2.3"},
    {QpState::kTerminate, QpEvent::kLowerLayerClosed, QpState::kError, "verbs 6.2.3"},
    {QpState::kTerminate, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.3"},
    {QpState::kClosing, QpEvent::kLowerLayerClosed, QpState::kIdle, "verbs 6.2.5"},
    {QpState::kClosing, QpEvent::kStreamError, QpState::kError, "verbs 6.2.5"},
    {QpState::kClosing, QpEvent::kTerminateReceived, QpState::kError, "verbs 6.2.5"},
    {QpState::kClosing, QpEvent::kPeerClosedEarly, QpState::kError, "verbs 6.2.5"},
    {QpState::kClosing, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.5"},
    {QpState::kError, QpEvent::kStreamError, QpState::kError, "verbs 6.2.4"},
    {QpState::kError, QpEvent::kLowerLayerClosed, QpState::kError, "verbs 6.2.4"},
    {QpState::kError, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.4"},
    {QpState::kError, QpEvent::kReset, QpState::kIdle, "verbs 6.2.4"},
});

}  // namespace iwarp::verbs
