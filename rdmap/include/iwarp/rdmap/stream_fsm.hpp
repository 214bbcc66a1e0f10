// SPDX-License-Identifier: Apache-2.0
// The states of an RDMAP stream, what moves them, and the rule behind every move (RFC 5040 sections
// 5.4, 6.2 and 7). Data only: Stream is the one owner of a machine of this kind.
#pragma once

#include <array>
#include <cstdint>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::rdmap {

enum class StreamState : std::uint8_t {
  kRdma,               ///< RDMA mode: messages flow both ways [RDMAP-80]
  kTerminating,        ///< a Terminate waits to be sent; nothing inbound counts any more [RDMAP-89]
  kTerminateSent,      ///< our Terminate has left; the lower layer closes gracefully
  kTerminateReceived,  ///< the peer's Terminate came; nothing is sent any more
  kClosed,             ///< the lower layer is gone
};

enum class StreamEvent : std::uint8_t {
  kError,          ///< a Fault of any layer, or the ULP ends the stream
  kTerminateLeft,  ///< the last octet of our Terminate was sent
  kTerminateArrived,
  kLowerLayerClosed,
};

inline constexpr std::array kStreamStates{
    StreamState::kRdma,          StreamState::kTerminating,
    StreamState::kTerminateSent, StreamState::kTerminateReceived,
    StreamState::kClosed,
};

inline constexpr std::array kStreamEvents{
    StreamEvent::kError,
    StreamEvent::kTerminateLeft,
    StreamEvent::kTerminateArrived,
    StreamEvent::kLowerLayerClosed,
};

using StreamEdge = bytes::Edge<StreamState, StreamEvent>;

// clang-format off
inline constexpr std::array kStreamEdges{
    StreamEdge{StreamState::kRdma, StreamEvent::kError, StreamState::kTerminating, "RFC 5040 7.1"},
    StreamEdge{StreamState::kRdma, StreamEvent::kTerminateArrived, StreamState::kTerminateReceived, "RFC 5040 5.4"},
    StreamEdge{StreamState::kRdma, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 6.2"},
    StreamEdge{StreamState::kTerminating, StreamEvent::kTerminateLeft, StreamState::kTerminateSent, "RFC 5040 6.2.1"},
    StreamEdge{StreamState::kTerminating, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 7"},
    StreamEdge{StreamState::kTerminateSent, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 6.2.1"},
    StreamEdge{StreamState::kTerminateReceived, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 6.2.1"},
};
// clang-format on
static_assert(bytes::deterministic(kStreamEdges));
static_assert(bytes::all_reachable(kStreamEdges, StreamState::kRdma));

const char* to_string(StreamState state);
const char* to_string(StreamEvent event);

}  // namespace iwarp::rdmap
