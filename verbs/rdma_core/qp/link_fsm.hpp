// SPDX-License-Identifier: Apache-2.0
// The link of a queue pair is a state machine with its own states and events. It records whether
// the queue pair has a peer, and whether rdma_cm or the program connected the two. The link is not
// the state in ibv_qp, which the program changes (qp/steps.hpp), and not the state of the core's
// queue pair (iwarp/verbs/qp_fsm.hpp).
#pragma once

#include <cstdint>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::rdma_core {

enum class LinkState : std::uint8_t {
  kNone,  ///< no peer yet, or the connection to the peer is over
  /// The program named the peer when it moved the queue pair to RTR, and the queue pair is not
  /// connected yet.
  kAwaited,
  kByHand,  ///< connected without rdma_cm, to the peer that the program named in ibv_modify_qp()
  kByCm,    ///< connected through rdma_cm
};

enum class LinkEvent : std::uint8_t {
  kPeerNamed,    ///< the program moved the queue pair to RTR, with the peer's address and number
  kEstablished,  ///< the connection is established
  /// The connection ended or failed, or the program has reset the queue pair or moved it to ERR.
  kOver,
};

inline constexpr auto kLinkEdges = bytes::machine<LinkState::kNone, LinkEvent>({
    {LinkState::kNone, LinkEvent::kPeerNamed, LinkState::kAwaited, "decision 0028"},
    {LinkState::kNone, LinkEvent::kEstablished, LinkState::kByCm, "rdma_connect(3)"},
    {LinkState::kNone, LinkEvent::kOver, LinkState::kNone, "rdma_connect(3)"},
    {LinkState::kAwaited, LinkEvent::kEstablished, LinkState::kByHand, "decision 0028"},
    {LinkState::kAwaited, LinkEvent::kOver, LinkState::kNone, "decision 0028"},
    {LinkState::kByHand, LinkEvent::kOver, LinkState::kNone, "decision 0037"},
    {LinkState::kByCm, LinkEvent::kOver, LinkState::kNone, "decision 0037"},
});

}  // namespace iwarp::rdma_core
