// SPDX-License-Identifier: Apache-2.0
// The life of a queue pair that is connected without the CM, as two state machines: how it finds
// its peer (OutOfBand), and why its requests wait for a peer (Unanswered).
#pragma once

#include <cstdint>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::rdma_core {

enum class PeerState : std::uint8_t {
  kListens,   ///< in RTR: waits for the peer's request
  kReady,     ///< in RTS: the same, and no connect to the peer is in progress
  kConnects,  ///< in RTS: the same, and a connect to the peer is in progress
  kAccepted,  ///< a request was accepted; no other request is
  kConnected,
};

enum class PeerEvent : std::uint8_t {
  kToRts,        ///< the program moved the queue pair to RTS
  kConnect,      ///< a connect was started
  kConnectOver,  ///< the connect failed, or the peer's request has replaced it
  kAccept,       ///< the peer's request was accepted
  kEstablished,
};

// clang-format off
inline constexpr auto kPeerEdges = bytes::machine<PeerState::kListens, PeerEvent>({
    {PeerState::kListens, PeerEvent::kToRts, PeerState::kReady, "decision 0028"},
    {PeerState::kListens, PeerEvent::kAccept, PeerState::kAccepted, "decision 0028"},
    {PeerState::kReady, PeerEvent::kConnect, PeerState::kConnects, "decision 0028"},
    {PeerState::kReady, PeerEvent::kAccept, PeerState::kAccepted, "decision 0028"},
    {PeerState::kReady, PeerEvent::kEstablished, PeerState::kConnected, "the connect attempt succeeded before it was cancelled"},
    {PeerState::kConnects, PeerEvent::kConnectOver, PeerState::kReady, "the connect attempt has ended, and this end may try again"},
    {PeerState::kConnects, PeerEvent::kAccept, PeerState::kAccepted, "the queue pair connects to itself"},
    {PeerState::kConnects, PeerEvent::kEstablished, PeerState::kConnected, "decision 0028"},
    {PeerState::kAccepted, PeerEvent::kToRts, PeerState::kAccepted, "the peer connected before ibv_modify_qp() to RTS"},
    {PeerState::kAccepted, PeerEvent::kEstablished, PeerState::kConnected, "decision 0028"},
    {PeerState::kConnected, PeerEvent::kToRts, PeerState::kConnected, "the peer connected before ibv_modify_qp() to RTS"},
    {PeerState::kConnected, PeerEvent::kEstablished, PeerState::kConnected, "the queue pair connects to itself"},
});
// clang-format on

enum class WaitState : std::uint8_t {
  kNew,
  kAwaits,       ///< in RTS: requests wait until their limit
  kUnreachable,  ///< not in RTS yet; the peer could not be reached
  kFails,        ///< in RTS: requests fail at once, because the peer could not be reached
  kLeft,         ///< the peer has disconnected, and is not expected to connect again
};

enum class WaitEvent : std::uint8_t {
  kToRts,        ///< the program moved the queue pair to RTS, or changed the limit in RTS
  kUnreachable,  ///< the peer could not be reached
  kLeave,        ///< the peer has disconnected
};

// clang-format off
inline constexpr auto kWaitEdges = bytes::machine<WaitState::kNew, WaitEvent>({
    {WaitState::kNew, WaitEvent::kToRts, WaitState::kAwaits, "timeout and retry_cnt limit the wait"},
    {WaitState::kNew, WaitEvent::kUnreachable, WaitState::kUnreachable, "the connect attempt failed before ibv_modify_qp() to RTS returned"},
    {WaitState::kNew, WaitEvent::kLeave, WaitState::kLeft, "no event reports the disconnect to the program"},
    {WaitState::kAwaits, WaitEvent::kToRts, WaitState::kAwaits, "ibv_modify_qp() sets a new timeout"},
    {WaitState::kAwaits, WaitEvent::kUnreachable, WaitState::kFails, "IBV_WC_RETRY_EXC_ERR"},
    {WaitState::kUnreachable, WaitEvent::kToRts, WaitState::kFails, "IBV_WC_RETRY_EXC_ERR"},
    {WaitState::kFails, WaitEvent::kToRts, WaitState::kFails, "the requests fail even after ibv_modify_qp() sets a new timeout"},
});
// clang-format on

}  // namespace iwarp::rdma_core
