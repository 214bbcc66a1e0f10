// SPDX-License-Identifier: Apache-2.0
// The states of MPA startup, what moves them, and the rule behind every move (RFC 5044 section
// 7.1.2, RFC 6581 sections 9 and 10). Data only: Startup is the one owner of a machine of this
// kind.
#pragma once

#include <array>
#include <cstdint>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::mpa {

enum class StartupState : std::uint8_t {
  kIdle,           ///< nothing sent or received
  kAwaitReply,     ///< initiator: Request out
  kAwaitRequest,   ///< responder: nothing valid yet
  kAwaitDecision,  ///< responder: the ULP has to accept or reject
  kFullOperation,  ///< done: negotiated() is valid
  kRejected,  ///< Reply with R=1 sent or received; the TCP connection stays open [MPA-86] [MPA-91]
  kFailed,    ///< close the TCP connection; failure() says why
};

constexpr bool is_final(StartupState state) {
  return state == StartupState::kFullOperation || state == StartupState::kRejected ||
         state == StartupState::kFailed;
}

enum class StartupEvent : std::uint8_t {
  kSendRequest,     ///< initiator: the ULP connects
  kListen,          ///< responder: the TCP connection is there
  kGoodRequest,     ///< a Request that the ULP may judge
  kRefusedRequest,  ///< a Request that we reject without asking the ULP
  kAccept,          ///< the ULP accepts
  kReject,          ///< the ULP rejects
  kGoodReply,       ///< a Reply with R=0 that we can live with
  kUnusableReply,   ///< a Reply with R=0 that asks for more than we have: one Terminate, then close
  kRejectReply,     ///< a Reply with R=1
  kMalformedFrame,  ///< key, Rev, PD_Length or form is wrong
  kEarlyOctets,     ///< octets behind a Request and before its Reply
  kConnectionLost,  ///< closed or reset by the peer
  kTimeout,         ///< the whole exchange took too long
};

inline constexpr std::array kStartupStates{
    StartupState::kIdle,          StartupState::kAwaitReply,    StartupState::kAwaitRequest,
    StartupState::kAwaitDecision, StartupState::kFullOperation, StartupState::kRejected,
    StartupState::kFailed,
};

inline constexpr std::array kStartupEvents{
    StartupEvent::kSendRequest,    StartupEvent::kListen,        StartupEvent::kGoodRequest,
    StartupEvent::kRefusedRequest, StartupEvent::kAccept,        StartupEvent::kReject,
    StartupEvent::kGoodReply,      StartupEvent::kUnusableReply, StartupEvent::kRejectReply,
    StartupEvent::kMalformedFrame, StartupEvent::kEarlyOctets,   StartupEvent::kConnectionLost,
    StartupEvent::kTimeout,
};

using StartupEdge = bytes::Edge<StartupState, StartupEvent>;

// clang-format off
inline constexpr std::array kStartupEdges{
    StartupEdge{StartupState::kIdle, StartupEvent::kSendRequest, StartupState::kAwaitReply, "RFC 5044 7.1.2 (1)"},
    StartupEdge{StartupState::kIdle, StartupEvent::kListen, StartupState::kAwaitRequest, "RFC 5044 7.1.2 (2)"},
    StartupEdge{StartupState::kIdle, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},

    StartupEdge{StartupState::kAwaitReply, StartupEvent::kGoodReply, StartupState::kFullOperation, "RFC 5044 7.1.2 (3)"},
    StartupEdge{StartupState::kAwaitReply, StartupEvent::kUnusableReply, StartupState::kFullOperation, "RFC 6581 9.1, 9.2"},
    StartupEdge{StartupState::kAwaitReply, StartupEvent::kRejectReply, StartupState::kRejected, "RFC 5044 7.1.2 (3)"},
    StartupEdge{StartupState::kAwaitReply, StartupEvent::kMalformedFrame, StartupState::kFailed, "RFC 5044 7.1.2 (3), (5)"},
    StartupEdge{StartupState::kAwaitReply, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},
    StartupEdge{StartupState::kAwaitReply, StartupEvent::kTimeout, StartupState::kFailed, "RFC 5044 7.1.2 (10)"},

    StartupEdge{StartupState::kAwaitRequest, StartupEvent::kGoodRequest, StartupState::kAwaitDecision, "RFC 5044 7.1.2 (2)"},
    StartupEdge{StartupState::kAwaitRequest, StartupEvent::kRefusedRequest, StartupState::kRejected, "RFC 6581 9.1"},
    StartupEdge{StartupState::kAwaitRequest, StartupEvent::kMalformedFrame, StartupState::kFailed, "RFC 5044 7.1.2 (2), (5)"},
    StartupEdge{StartupState::kAwaitRequest, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},
    StartupEdge{StartupState::kAwaitRequest, StartupEvent::kTimeout, StartupState::kFailed, "RFC 5044 7.1.2 (8), (10)"},

    StartupEdge{StartupState::kAwaitDecision, StartupEvent::kAccept, StartupState::kFullOperation, "RFC 5044 7.1.2 (2)"},
    StartupEdge{StartupState::kAwaitDecision, StartupEvent::kReject, StartupState::kRejected, "RFC 5044 7.1.2 (2), (6)"},
    StartupEdge{StartupState::kAwaitDecision, StartupEvent::kEarlyOctets, StartupState::kFailed, "RFC 5044 7.1.2 (3)"},
    StartupEdge{StartupState::kAwaitDecision, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},
    StartupEdge{StartupState::kAwaitDecision, StartupEvent::kTimeout, StartupState::kFailed, "RFC 5044 7.1.2 (10)"},
};
// clang-format on

static_assert(bytes::deterministic(kStartupEdges));
static_assert(bytes::all_reachable(kStartupEdges, StartupState::kIdle));

/// The state's and the event's name without its k.
const char* to_string(StartupState state);
const char* to_string(StartupEvent event);

}  // namespace iwarp::mpa
