// SPDX-License-Identifier: Apache-2.0
// Collects the counters of each layer of a connection, and records the reason why the connection
// ended.
#include "connection/connection_impl.hpp"

namespace iwarp::verbs {

Counters Connection::counters() const {
  Counters c;
  if (full_ == nullptr) return c;
  const auto& tx = full_->framer.counters();
  const auto& rx = full_->deframer.counters();
  c.octets_copied = tx.octets_copied + rx.octets_copied + full_->octets_copied;
  c.octets_crced = tx.octets_crced + rx.octets_crced;
  c.octets_sent = tx.octets;
  c.octets_received = rx.octets;
  c.fpdus_sent = tx.fpdus;
  c.fpdus_received = rx.fpdus;
  c.markers_sent = tx.markers;
  c.markers_received = rx.markers;
  c.pad_sent = tx.pad_octets;
  c.pad_received = rx.pad_octets;
  if (full_->port != nullptr) {
    c.octets_placed = full_->port->octets_placed();
    c.completions = full_->port->completions();
  }
  return c;
}

Incidents Connection::incidents() const {
  Incidents out;
  if (full_ == nullptr) return out;
  const Full& f = *full_;
  out.receive_holds = f.receive_holds;
  out.pins_broken = f.pins_broken;
  if (f.terminate_left || f.stream.state() == rdmap::StreamState::kTerminateSent) {
    out.terminate_sent = f.stream.own_terminate()->fault;
  }
  if (f.stream.peer_terminate()) out.terminate_received = f.stream.peer_terminate()->fault;
  return out;
}

// Stores the cause of the end unless one has been stored before, because later causes are
// consequences of the first. Call before requests are flushed.
void Connection::note_end(StreamEnd::Cause cause) {
  if (full_ == nullptr || full_->end_cause != StreamEnd::Cause::kNone) return;
  Full& f = *full_;
  f.end_cause = cause;
  f.receive_missing = f.hold == Full::Hold::kForReceive;
  if (f.port == nullptr) return;
  f.outstanding = f.port->outstanding();
  f.oldest_outstanding = f.port->oldest_outstanding();
}

StreamEnd Connection::end() const {
  if (full_ == nullptr) return {};
  const auto cause = full_->end_cause;
  StreamEnd out = full_->port != nullptr ? full_->port->end(cause) : StreamEnd{.cause = cause};
  out.terminate = cause == StreamEnd::Cause::kTerminateReceived ? full_->stream.peer_terminate()
                                                                : full_->stream.own_terminate();
  if (!out.work) out.work = full_->oldest_outstanding;
  out.outstanding = full_->outstanding;
  out.receive_missing = full_->receive_missing;
  return out;
}

}  // namespace iwarp::verbs
