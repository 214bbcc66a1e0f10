// SPDX-License-Identifier: Apache-2.0
// The state machine of an RDMAP stream as a table (RFC 5040 sections 5.4, 6.2 and 7). Data only;
// Stream runs it.
#pragma once

#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::rdmap {

/// States of an RDMAP stream.
enum class StreamState : std::uint8_t {
  kRdma,               ///< RDMA mode: messages flow both ways [RDMAP-80]
  kTerminating,        ///< a Terminate is queued; inbound segments are dropped [RDMAP-89]
  kTerminateSent,      ///< this end's Terminate has been sent; the lower layer closes gracefully
  kTerminateReceived,  ///< the peer's Terminate has arrived; nothing more is sent
  kClosed,             ///< the lower layer is closed
};

/// The events that move a stream from one state to the next.
enum class StreamEvent : std::uint8_t {
  kError,             ///< a layer found a Fault, or the ULP ends the stream
  kTerminateLeft,     ///< the last octet of this end's Terminate has been sent
  kTerminateArrived,  ///< the peer's Terminate has arrived
  kLowerLayerClosed,  ///< TCP is closed or lost
};

// clang-format off
inline constexpr auto kStreamEdges = bytes::machine<StreamState::kRdma, StreamEvent>({
    {StreamState::kRdma, StreamEvent::kError, StreamState::kTerminating, "RFC 5040 7.1"},
    {StreamState::kRdma, StreamEvent::kTerminateArrived, StreamState::kTerminateReceived, "RFC 5040 5.4"},
    {StreamState::kRdma, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 6.2"},
    {StreamState::kTerminating, StreamEvent::kTerminateLeft, StreamState::kTerminateSent, "RFC 5040 6.2.1"},
    {StreamState::kTerminating, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 7"},
    {StreamState::kTerminateSent, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 6.2.1"},
    {StreamState::kTerminateReceived, StreamEvent::kLowerLayerClosed, StreamState::kClosed, "RFC 5040 6.2.1"},
});
// clang-format on

/// Return the name of the state or event without the leading k.
inline std::string_view to_string(StreamState state) { return bytes::name_of(state); }
inline std::string_view to_string(StreamEvent event) { return bytes::name_of(event); }

}  // namespace iwarp::rdmap
