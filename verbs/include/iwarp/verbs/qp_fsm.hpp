// SPDX-License-Identifier: Apache-2.0
// The queue pair state machine of the RDMA verbs draft, section 6.2, as a table. [VRB-5]
#pragma once

#include <array>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

enum class QpEvent : std::uint8_t {
  kConnected,    ///< MPA is in full operation
  kStreamError,  ///< we terminate the stream, whatever the reason
  kTerminateReceived,
  kCloseRequested,    ///< by our consumer, everything posted was sent
  kPeerClosed,        ///< FIN, and nothing was under way
  kPeerClosedEarly,   ///< FIN while work was under way
  kLowerLayerClosed,  ///< both directions are closed in order, or the close timed out
  kLowerLayerLost,    ///< reset, timed out, or aborted by our consumer
  kReset,             ///< the consumer takes it back to Idle
};
std::string_view to_string(QpEvent event);

using QpEdge = bytes::Edge<QpState, QpEvent>;
inline constexpr std::array kQpEdges{
    QpEdge{QpState::kIdle, QpEvent::kConnected, QpState::kRts, "verbs 6.2.1.2"},
    QpEdge{QpState::kIdle, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.1"},
    QpEdge{QpState::kIdle, QpEvent::kReset, QpState::kIdle, "verbs 6.2.1"},
    QpEdge{QpState::kRts, QpEvent::kStreamError, QpState::kTerminate, "verbs 6.2.2.3"},
    QpEdge{QpState::kRts, QpEvent::kTerminateReceived, QpState::kTerminate, "verbs 6.2.2.3"},
    QpEdge{QpState::kRts, QpEvent::kPeerClosedEarly, QpState::kTerminate, "verbs 6.2.2.2"},
    QpEdge{QpState::kRts, QpEvent::kCloseRequested, QpState::kClosing, "verbs 6.2.2.1"},
    QpEdge{QpState::kRts, QpEvent::kPeerClosed, QpState::kClosing, "verbs 6.2.2.2"},
    QpEdge{QpState::kRts, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.2.4"},
    QpEdge{QpState::kTerminate, QpEvent::kStreamError, QpState::kTerminate, "verbs 6.2.3"},
    QpEdge{QpState::kTerminate, QpEvent::kLowerLayerClosed, QpState::kError, "verbs 6.2.3"},
    QpEdge{QpState::kTerminate, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.3"},
    QpEdge{QpState::kClosing, QpEvent::kLowerLayerClosed, QpState::kIdle, "verbs 6.2.5"},
    QpEdge{QpState::kClosing, QpEvent::kStreamError, QpState::kError, "verbs 6.2.5"},
    QpEdge{QpState::kClosing, QpEvent::kTerminateReceived, QpState::kError, "verbs 6.2.5"},
    QpEdge{QpState::kClosing, QpEvent::kPeerClosedEarly, QpState::kError, "verbs 6.2.5"},
    QpEdge{QpState::kClosing, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.5"},
    QpEdge{QpState::kError, QpEvent::kStreamError, QpState::kError, "verbs 6.2.4"},
    QpEdge{QpState::kError, QpEvent::kLowerLayerClosed, QpState::kError, "verbs 6.2.4"},
    QpEdge{QpState::kError, QpEvent::kLowerLayerLost, QpState::kError, "verbs 6.2.4"},
    QpEdge{QpState::kError, QpEvent::kReset, QpState::kIdle, "verbs 6.2.4"},
};
static_assert(bytes::deterministic(kQpEdges));
static_assert(bytes::all_reachable(kQpEdges, QpState::kIdle));

}  // namespace iwarp::verbs
