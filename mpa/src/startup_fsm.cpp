// SPDX-License-Identifier: Apache-2.0
// Names of startup's states and events, for traces and for the table in rfc-notes/fsm, which a test
// compares with the code.
#include "iwarp/mpa/startup_fsm.hpp"

namespace iwarp::mpa {

const char* to_string(StartupState state) {
  switch (state) {
    case StartupState::kIdle:
      return "Idle";
    case StartupState::kAwaitReply:
      return "AwaitReply";
    case StartupState::kAwaitRequest:
      return "AwaitRequest";
    case StartupState::kAwaitDecision:
      return "AwaitDecision";
    case StartupState::kFullOperation:
      return "FullOperation";
    case StartupState::kRejected:
      return "Rejected";
    case StartupState::kFailed:
      return "Failed";
  }
  return "?";
}

const char* to_string(StartupEvent event) {
  switch (event) {
    case StartupEvent::kSendRequest:
      return "SendRequest";
    case StartupEvent::kListen:
      return "Listen";
    case StartupEvent::kGoodRequest:
      return "GoodRequest";
    case StartupEvent::kRefusedRequest:
      return "RefusedRequest";
    case StartupEvent::kAccept:
      return "Accept";
    case StartupEvent::kReject:
      return "Reject";
    case StartupEvent::kGoodReply:
      return "GoodReply";
    case StartupEvent::kUnusableReply:
      return "UnusableReply";
    case StartupEvent::kRejectReply:
      return "RejectReply";
    case StartupEvent::kMalformedFrame:
      return "MalformedFrame";
    case StartupEvent::kEarlyOctets:
      return "EarlyOctets";
    case StartupEvent::kConnectionLost:
      return "ConnectionLost";
    case StartupEvent::kTimeout:
      return "Timeout";
  }
  return "?";
}

}  // namespace iwarp::mpa
