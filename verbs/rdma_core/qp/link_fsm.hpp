// SPDX-License-Identifier: Apache-2.0
// The link of a queue pair: whether it has a peer, and how they were connected. Events change it.
// The program changes the state in ibv_qp (qp/steps.hpp), and the core has a state of its own
// (iwarp/verbs/qp_fsm.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::rdma_core {

enum class LinkState : std::uint8_t {
  kNone,     ///< no peer yet, or no longer
  kAwaited,  ///< without rdma_cm: RTR has named the peer, which has not connected yet
  kByHand,   ///< connected to the peer that RTR has named
  kByCm,     ///< connected by rdma_cm
};
std::string_view to_string(LinkState state);
inline constexpr std::array kLinkStates{LinkState::kNone, LinkState::kAwaited, LinkState::kByHand,
                                        LinkState::kByCm};

enum class LinkEvent : std::uint8_t {
  kPeerNamed,    ///< ibv_modify_qp() to RTR, with the peer's address and number
  kEstablished,  ///< the connection is established
  kOver,         ///< it ended or failed, or the program has reset the queue pair or moved it to ERR
};
std::string_view to_string(LinkEvent event);
inline constexpr std::array kLinkEvents{LinkEvent::kPeerNamed, LinkEvent::kEstablished,
                                        LinkEvent::kOver};

using LinkEdge = bytes::Edge<LinkState, LinkEvent>;
inline constexpr std::array kLinkEdges{
    LinkEdge{LinkState::kNone, LinkEvent::kPeerNamed, LinkState::kAwaited, "decision 0028"},
    LinkEdge{LinkState::kNone, LinkEvent::kEstablished, LinkState::kByCm, "rdma_connect(3)"},
    LinkEdge{LinkState::kNone, LinkEvent::kOver, LinkState::kNone, "rdma_connect(3)"},
    LinkEdge{LinkState::kAwaited, LinkEvent::kEstablished, LinkState::kByHand, "decision 0028"},
    LinkEdge{LinkState::kAwaited, LinkEvent::kOver, LinkState::kNone, "decision 0028"},
    LinkEdge{LinkState::kByHand, LinkEvent::kOver, LinkState::kNone, "decision 0037"},
    LinkEdge{LinkState::kByCm, LinkEvent::kOver, LinkState::kNone, "decision 0037"},
};
static_assert(bytes::deterministic(kLinkEdges));
static_assert(bytes::all_reachable(kLinkEdges, LinkState::kNone));

}  // namespace iwarp::rdma_core
