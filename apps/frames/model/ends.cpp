// SPDX-License-Identifier: Apache-2.0
// Converts frames to events for the state tables of mpa, rdmap and verbs. An event for which the
// table has no edge in the current state changes nothing.
#include "frames/model/ends.hpp"

namespace iwarp::apps::frames {
namespace {

using mpa::StartupEvent;
using mpa::StartupState;
using rdmap::StreamEvent;
using rdmap::StreamState;
using verbs::QpEvent;

/// If the table has an edge from `state` for `event`, follows this edge and records the change.
template <typename Edges, typename State, typename Event>
void step(const Edges& edges, State& state, Event event, Side side, const char* machine,
          std::vector<StateChange>& changes) {
  for (const auto& edge : edges) {
    if (edge.from != state || edge.event != event) continue;
    state = edge.to;
    changes.push_back(
        {side, machine, to_string(edge.from), to_string(event), to_string(edge.to), edge.rfc});
    return;
  }
}

}  // namespace

void Ends::startup(Side side, StartupEvent event) {
  step(mpa::kStartupEdges, end(side).startup, event, side, "MPA startup", changes_);
}
void Ends::stream(Side side, StreamEvent event) {
  if (auto& state = end(side).stream) {
    step(rdmap::kStreamEdges, *state, event, side, "RDMAP stream", changes_);
  }
}
void Ends::queue_pair(Side side, QpEvent event) {
  step(verbs::kQpEdges, end(side).qp, event, side, "queue pair", changes_);
}

void Ends::full_operation(Side side) {
  end(side).stream = StreamState::kRdma;
  queue_pair(side, QpEvent::kConnected);
}

void Ends::request(Side from) {
  startup(from, StartupEvent::kSendRequest);
  startup(other(from), StartupEvent::kListen);
  startup(other(from), StartupEvent::kGoodRequest);
}

void Ends::reply(Side from, bool rejected) {
  // If the capture begins with the Reply, assume that the Request was sent and received earlier.
  if (end(from).startup == StartupState::kIdle) end(from).startup = StartupState::kAwaitDecision;
  auto& peer = end(other(from)).startup;
  if (peer == StartupState::kIdle) peer = StartupState::kAwaitReply;
  startup(from, rejected ? StartupEvent::kReject : StartupEvent::kAccept);
  startup(other(from), rejected ? StartupEvent::kRejectReply : StartupEvent::kGoodReply);
  if (rejected) return;
  full_operation(from);
  full_operation(other(from));
}

void Ends::terminate(Side from) {
  stream(from, StreamEvent::kError);
  stream(from, StreamEvent::kTerminateLeft);
  queue_pair(from, QpEvent::kStreamError);
  stream(other(from), StreamEvent::kTerminateArrived);
  queue_pair(other(from), QpEvent::kTerminateReceived);
}

const std::vector<StateChange>& Ends::see(const Explained& e) {
  changes_.clear();
  const Frame& frame = *e.frame;
  if (frame.kind == FrameKind::kStartup) {
    if (frame.startup.kind == mpa::FrameKind::kRequest) {
      request(frame.from);
    } else {
      reply(frame.from, frame.startup.rejected);
    }
    return changes_;
  }
  for (auto& one : ends_) {
    if (one.stream) continue;
    one = {.startup = StartupState::kFullOperation,
           .stream = StreamState::kRdma,
           .qp = verbs::QpState::kRts};
  }
  if (frame.kind == FrameKind::kFpdu && frame.crc == CrcVerdict::kBad) {
    has_bad_frame_[static_cast<std::size_t>(other(frame.from))] = true;
  }
  const bool is_terminate = e.opcode != nullptr && e.opcode->opcode == rdmap::Opcode::kTerminate;
  if (is_terminate && frame.crc != CrcVerdict::kBad) terminate(frame.from);
  return changes_;
}

const std::vector<StateChange>& Ends::closed(const Closed& closed) {
  changes_.clear();
  if (closed.how == Closing::kReset) {
    for (const Side side : {Side::kNear, Side::kFar}) {
      startup(side, StartupEvent::kConnectionLost);
      stream(side, StreamEvent::kLowerLayerClosed);
      queue_pair(side, QpEvent::kLowerLayerLost);
    }
  } else if (closed.how == Closing::kFin) {
    // A responder that has received no valid FPDU closes after a bad one without a Terminate.
    if (has_bad_frame_[static_cast<std::size_t>(closed.first)]) {
      stream(closed.first, StreamEvent::kError);
      queue_pair(closed.first, QpEvent::kStreamError);
    }
    for (const Side side : {closed.first, other(closed.first)}) {
      queue_pair(side, side == closed.first ? QpEvent::kCloseRequested : QpEvent::kPeerClosed);
    }
    for (const Side side : {closed.first, other(closed.first)}) {
      startup(side, StartupEvent::kConnectionLost);
      stream(side, StreamEvent::kLowerLayerClosed);
      queue_pair(side, QpEvent::kLowerLayerClosed);
    }
  }
  return changes_;
}

}  // namespace iwarp::apps::frames
