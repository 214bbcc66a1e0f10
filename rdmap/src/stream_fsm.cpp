// SPDX-License-Identifier: Apache-2.0
// Names of a stream's states and events, for traces and for the table in rfc-notes/fsm, which a
// test compares with the code.
#include "iwarp/rdmap/stream_fsm.hpp"

namespace iwarp::rdmap {

const char* to_string(StreamState state) {
  switch (state) {
    case StreamState::kRdma:
      return "Rdma";
    case StreamState::kTerminating:
      return "Terminating";
    case StreamState::kTerminateSent:
      return "TerminateSent";
    case StreamState::kTerminateReceived:
      return "TerminateReceived";
    case StreamState::kClosed:
      return "Closed";
  }
  return "?";
}

const char* to_string(StreamEvent event) {
  switch (event) {
    case StreamEvent::kError:
      return "Error";
    case StreamEvent::kTerminateLeft:
      return "TerminateLeft";
    case StreamEvent::kTerminateArrived:
      return "TerminateArrived";
    case StreamEvent::kLowerLayerClosed:
      return "LowerLayerClosed";
  }
  return "?";
}

}  // namespace iwarp::rdmap
