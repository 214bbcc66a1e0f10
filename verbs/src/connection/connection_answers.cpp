// SPDX-License-Identifier: Apache-2.0
// Acknowledged completions of a connection: how many Reads the two ends agree on in addition to
// those of the application, and how long one end waits for the other. See rfc-notes/decisions/0023.
#include <algorithm>
#include <bit>

#include "connection/connection_impl.hpp"
#include "iwarp/mpa/startup_frame.hpp"

namespace iwarp::verbs {
namespace {

// A message that has waited for a receive for this long is reported, once for each connection.
constexpr Duration kReportWait = std::chrono::seconds(2);

}  // namespace

Reads reads_to_ask(const Reads& wanted, const ConnectionOptions& options) {
  if (options.completions == Completions::kSent) return wanted;
  const auto more = [](std::uint16_t reads) {
    constexpr auto kMore = static_cast<std::uint32_t>(Acknowledgements::kMost);
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(reads + kMore, mpa::kMaxReads));
  };
  // Round the IRD up to a power of two, because StartupOptions::round_ird rounds it down. The
  // result would otherwise be too small for the Reads of the peer's application and for the empty
  // Reads with which the peer asks for acknowledgements.
  const auto ird = std::bit_ceil(more(wanted.ird));
  return {.ird = std::min(ird, mpa::kMaxReads), .ord = more(wanted.ord)};
}

mpa::StartupOptions startup_options(const ConnectionOptions& options) {
  mpa::StartupOptions out = options.startup;
  const Reads reads = reads_to_ask({.ird = out.ird, .ord = out.ord}, options);
  out.ird = reads.ird;
  out.ord = reads.ord;
  out.acknowledged = options.completions == Completions::kAcknowledged;
  return out;
}

// Returns how many Reads this end may have outstanding: the negotiated ORD. If the peer's frame
// names no IRD, the result is at most `asked`, the ORD that the application wants. Such a peer has
// not agreed to the Reads that reads_to_ask() adds for acknowledgements.
std::uint16_t usable_ord(const mpa::Startup& startup, const ConnectionOptions& options,
                         std::uint16_t asked) {
  const mpa::Negotiated& n = startup.negotiated();
  if (options.completions == Completions::kSent) return n.ord;
  const auto& offer = startup.peer_offer();
  const bool agreed = n.enhanced && offer && offer->ird != mpa::kNoNegotiation;
  return agreed ? n.ord : std::min(n.ord, asked);
}

StreamPort::Terms terms_for(const mpa::Negotiated& n, const ConnectionOptions& options,
                            std::uint16_t usable_ord, const Reads& asked) {
  const bool acknowledged = options.completions == Completions::kAcknowledged;
  const bool asks = acknowledged && usable_ord != 0;
  const std::uint16_t ord = asks ? std::min(usable_ord, asked.ord) : n.ord;
  // If the peer's IRD has room only for the application's Reads, an empty Read takes the place of
  // one of them.
  const std::size_t reads = asks ? std::max<std::size_t>(usable_ord - ord, 1) : 0;
  // MPA may have raised the IRD for acknowledgements or for the RTR.
  const bool is_raised = acknowledged || asked.ird == 0;
  return {.ird = is_raised ? std::min(n.ird, asked.ird) : n.ird,
          .ord = ord,
          .peer_answers_none = ord == 0 && asked.ord != 0,
          .extensions = n.extensions,
          .send_immediate = n.send_immediate,
          .hold_on_empty = asks || options.receive_hold > Duration::zero(),
          .acknowledging_reads = reads,
          .rtr = n.rtr};
}

// Returns whether this end delays its FIN because the peer may still ask for an acknowledgement
// with a Read. This end cannot answer a Read that arrives after the FIN, and such a Read would turn
// the close into a bad close. [VRB-17]
bool Connection::Full::awaits_ack_request(TimePoint now, Duration limit) {
  const bool may_come = is_unacknowledged && !fin_received && is_acknowledged();
  if (may_come && !deadlines.is_set(Deadline::kAckRequest)) {
    deadlines.set(Deadline::kAckRequest, now + limit);
  }
  if (may_come && !deadlines.has_passed(Deadline::kAckRequest, now)) return true;
  is_unacknowledged = false;
  deadlines.clear(Deadline::kAckRequest);
  return false;
}

bool Connection::owes_answers() const {
  return full_ != nullptr && full_->stream.inbound_reads() != 0;
}

bool Connection::awaits_ack_request(TimePoint now) {
  return full_ != nullptr && !discarding() &&
         full_->awaits_ack_request(now, options_.ack_request_wait);
}

void Connection::note_peer_seen(TimePoint at) {
  if (full_ != nullptr) full_->peer_seen = std::max(full_->peer_seen, at);
}

std::optional<TimePoint> Connection::answer_due() const {
  if (full_ == nullptr || full_->port == nullptr) return std::nullopt;
  const auto limit = full_->port->answer_limit();
  return limit ? std::optional(full_->peer_seen + *limit) : std::nullopt;
}

void Connection::give_up_if_due(TimePoint now) {
  const auto due = answer_due();
  if (!due || now < *due) return;
  note_end(StreamEnd::Cause::kNoAnswer);
  full_->port->peer_gone();
  over(ConnectionCause::kLost, SocketAction::kReset);
}

void Connection::hold_for_receive(TimePoint now) {
  Full& f = *full_;
  const Duration hold = f.port->receive_hold().value_or(options_.receive_hold);
  if (hold == Duration::zero()) {
    f.stream.terminate(ddp::kUntaggedNoBuffer, true);  // [DDP-68]
    return;
  }
  f.hold = Full::Hold::kForReceive;
  if (!f.deadlines.is_set(Deadline::kReceive)) {
    const Duration wait = f.wait_is_reported ? hold : std::min(hold, kReportWait);
    if (wait != PeerTimeouts::kForEver) f.deadlines.set(Deadline::kReceive, now + wait);
  }
  // This function is called many times while the same FPDU waits; count that FPDU only once.
  if (f.held_at == f.deframer.counters().fpdus) return;
  f.held_at = f.deframer.counters().fpdus;
  f.port->await_receive(now);
  ++f.receive_holds;
  // The empty Read with which the peer will ask for an acknowledgement arrives behind the waiting
  // message, and this end cannot process the Read before that message. So acknowledge the earlier
  // messages without being asked. After its FIN, this end can send no acknowledgement.
  const bool may_answer = state_ == ConnectionState::kOpen || state_ == ConnectionState::kDraining;
  if (may_answer && f.is_unacknowledged) f.stream.acknowledge_held();
  f.take_overtaking();
}

void Connection::receive_overdue(TimePoint now) {
  Full& f = *full_;
  const Duration hold = f.port->receive_hold().value_or(options_.receive_hold);
  if (!f.wait_is_reported && hold > kReportWait) {
    f.wait_is_reported = true;
    // `now` may be later than the deadline, which is kReportWait after the wait began.
    const TimePoint began = f.deadlines.at(Deadline::kReceive) - kReportWait;
    f.deadlines.clear(Deadline::kReceive);
    if (hold != PeerTimeouts::kForEver) f.deadlines.set(Deadline::kReceive, began + hold);
    f.port->receive_overdue();
    if (!f.deadlines.has_passed(Deadline::kReceive, now)) return;
  }
  if (f.port->drop_held()) {
    f.deadlines.clear(Deadline::kReceive);
    return resume(now);
  }
  f.refuse_held();
  settle(now);
}

void Connection::resume(TimePoint now) {
  if (full_ == nullptr || full_->hold == Full::Hold::kNone) return;
  const bool done = full_->port == nullptr || full_->port->finish_invalidate();
  full_->hold = done ? Full::Hold::kNone : Full::Hold::kForMemory;
  run_inbound(now);
}

}  // namespace iwarp::verbs
