// SPDX-License-Identifier: Apache-2.0
// The state machine of MPA startup as a table (RFC 5044 section 7.1.2, RFC 6581 sections 9 and 10).
// Data only; Startup runs it.
#pragma once

#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::mpa {

/// States of MPA startup.
enum class StartupState : std::uint8_t {
  kIdle,           ///< startup has not begun: nothing has been sent or received
  kAwaitReply,     ///< initiator: the Request is queued or sent
  kAwaitRequest,   ///< responder: the Request has not arrived completely
  kAwaitDecision,  ///< responder: the ULP has to accept or reject
  kFullOperation,  ///< startup has succeeded: negotiated() is valid
  kRejected,  ///< Reply with R=1 sent or received; the TCP connection stays open [MPA-86] [MPA-91]
  kFailed,    ///< startup has failed (see failure()): the driver closes the TCP connection
};

/// Returns whether startup is over in this state.
constexpr bool is_final(StartupState state) {
  return state == StartupState::kFullOperation || state == StartupState::kRejected ||
         state == StartupState::kFailed;
}

/// The events that move MPA startup from one state to the next.
enum class StartupEvent : std::uint8_t {
  kSendRequest,     ///< initiator: the ULP asks to connect
  kListen,          ///< responder: the TCP connection exists
  kGoodRequest,     ///< a Request arrived, which the ULP has to accept or reject
  kRefusedRequest,  ///< a Request arrived that is rejected without asking the ULP
  kAccept,          ///< the ULP accepts
  kReject,          ///< the ULP rejects
  kGoodReply,       ///< a Reply with R=0 and acceptable terms arrived
  kUnusableReply,   ///< a Reply with R=0 has too large an ORD, or no RTR kind that this end offered
  kRejectReply,     ///< a Reply with R=1 arrived
  kMalformedFrame,  ///< a frame arrived whose key, Rev, PD_Length or form is wrong
  kEarlyOctets,     ///< octets arrived after a Request and before its Reply
  kConnectionLost,  ///< the peer closed or reset the TCP connection
  kTimeout,         ///< the whole exchange took too long
};

// clang-format off
inline constexpr auto kStartupEdges = bytes::machine<StartupState::kIdle, StartupEvent>({
    {StartupState::kIdle, StartupEvent::kSendRequest, StartupState::kAwaitReply, "RFC 5044 7.1.2 (1)"},
    {StartupState::kIdle, StartupEvent::kListen, StartupState::kAwaitRequest, "RFC 5044 7.1.2 (2)"},
    {StartupState::kIdle, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},

    {StartupState::kAwaitReply, StartupEvent::kGoodReply, StartupState::kFullOperation, "RFC 5044 7.1.2 (3)"},
    {StartupState::kAwaitReply, StartupEvent::kUnusableReply, StartupState::kFullOperation, "RFC 6581 9.1, 9.2"},
    {StartupState::kAwaitReply, StartupEvent::kRejectReply, StartupState::kRejected, "RFC 5044 7.1.2 (3)"},
    {StartupState::kAwaitReply, StartupEvent::kMalformedFrame, StartupState::kFailed, "RFC 5044 7.1.2 (3), (5)"},
    {StartupState::kAwaitReply, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},
    {StartupState::kAwaitReply, StartupEvent::kTimeout, StartupState::kFailed, "RFC 5044 7.1.2 (10)"},

    {StartupState::kAwaitRequest, StartupEvent::kGoodRequest, StartupState::kAwaitDecision, "RFC 5044 7.1.2 (2)"},
    {StartupState::kAwaitRequest, StartupEvent::kRefusedRequest, StartupState::kRejected, "RFC 6581 9.1"},
    {StartupState::kAwaitRequest, StartupEvent::kMalformedFrame, StartupState::kFailed, "RFC 5044 7.1.2 (2), (5)"},
    {StartupState::kAwaitRequest, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},
    {StartupState::kAwaitRequest, StartupEvent::kTimeout, StartupState::kFailed, "RFC 5044 7.1.2 (8), (10)"},

    {StartupState::kAwaitDecision, StartupEvent::kAccept, StartupState::kFullOperation, "RFC 5044 7.1.2 (2)"},
    {StartupState::kAwaitDecision, StartupEvent::kReject, StartupState::kRejected, "RFC 5044 7.1.2 (2), (6)"},
    {StartupState::kAwaitDecision, StartupEvent::kEarlyOctets, StartupState::kFailed, "RFC 5044 7.1.2 (3)"},
    {StartupState::kAwaitDecision, StartupEvent::kConnectionLost, StartupState::kFailed, "RFC 5044 8 error 1"},
    {StartupState::kAwaitDecision, StartupEvent::kTimeout, StartupState::kFailed, "RFC 5044 7.1.2 (10)"},
});
// clang-format on

/// Return the name of the state or event without the leading k.
inline std::string_view to_string(StartupState state) { return bytes::name_of(state); }
inline std::string_view to_string(StartupEvent event) { return bytes::name_of(event); }

}  // namespace iwarp::mpa
