// SPDX-License-Identifier: Apache-2.0
// Connection: set-up, control and end. connection_data.cpp moves the octets.
#include "iwarp/verbs/connection.hpp"

#include <algorithm>
#include <cassert>

#include "connection/connection_impl.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "queue_pair/observed.hpp"

namespace iwarp::verbs {
namespace {

constexpr std::size_t kMaxPieces = 512;
constexpr std::size_t kLargestHeader = ddp::kUntaggedHeaderSize + rdmap::kMaxTerminateSize;
static_assert(kLargestHeader < mpa::kMinMulpdu);
// If there is no CRC, payload of up to this size in octets is copied next to its header. A copy is
// cheaper than two more pieces for the kernel to gather.
constexpr std::size_t kCopyBelow = 2048;

rdmap::RtrKind rtr_kind(mpa::Rtr rtr) {
  if (rtr == mpa::Rtr::kRead) return rdmap::RtrKind::kRead;
  return rtr == mpa::Rtr::kSend ? rdmap::RtrKind::kSend : rdmap::RtrKind::kWrite;
}

rdmap::Ulp& ulp_of(StreamPort& port, LooseUlp* loose, Observed* observed) {
  rdmap::Ulp& ulp = loose != nullptr ? *loose : port.ulp();
  return observed != nullptr ? observed->between(ulp) : ulp;
}

}  // namespace

Connection::Connection(mpa::Role role, QueuePair* qp, QpDriver& driver,
                       const ConnectionOptions& options, WireTap* tap)
    : role_(role),
      qp_(qp),
      driver_(driver),
      options_(options),
      asked_ird_(options.startup.ird),
      asked_ord_(options.startup.ord),
      tap_(tap),
      observed_(Observed::by(tap)),
      startup_(role, startup_options(options)),
      state_(ConnectionState::kStartup) {
  update_mulpdu();
}

Connection::~Connection() = default;

void Connection::report_states() {
  if (observed_ == nullptr) return;
  observed_->states_are(to_string(startup_.state()),
                        full_ != nullptr ? to_string(full_->stream.state()) : "",
                        qp_ != nullptr ? to_string(qp_->state()) : "");
}

// Steps the state machine. Returns false if the table has no edge, which is a bug of this stack.
bool Connection::step(ConnectionCause cause) {
  const auto next = bytes::step(kConnectionEdges, state_, cause);
  assert(next);
  if (!next) return false;
  state_ = *next;
  if (full_ != nullptr) full_->is_set_up = false;
  return true;
}

// Set-up ------------------------------------------------------------------------------------------

bool Connection::connect(bytes::View private_data, TimePoint now) {
  const bool asked = startup_.request(private_data, now);
  report_states();
  return asked;
}

void Connection::listen(TimePoint now) {
  startup_.listen(now);
  report_states();
}

bool Connection::accept(QueuePair& qp, bytes::View private_data, std::uint16_t ird,
                        std::uint16_t ord, TimePoint now) {
  const Reads reads = reads_to_ask({.ird = ird, .ord = ord}, options_);
  if (!startup_.accept(private_data, reads.ird, reads.ord)) return false;
  asked_ird_ = ird;
  asked_ord_ = ord;
  qp_ = &qp;
  startup_progress(now);
  return true;
}

bool Connection::reject(bytes::View private_data, TimePoint now) {
  if (!startup_.reject(private_data)) return false;
  startup_progress(now);
  return true;
}

void Connection::startup_progress(TimePoint now) {
  if (state_ != ConnectionState::kStartup) return;
  if (reported_startup_ == startup_.state()) return;
  reported_startup_ = startup_.state();
  report_states();
  switch (reported_startup_) {
    case mpa::StartupState::kAwaitDecision:
      events_.push_back({.type = ConnectionEvent::Type::kRequest, .failure = {}});
      return;
    case mpa::StartupState::kFullOperation:
      enter_full_operation(now);
      return;
    case mpa::StartupState::kRejected:
      // TCP stays open until the owner of the socket closes it. [MPA-86] [MPA-91]
      if (role_ == mpa::Role::kInitiator) {
        events_.push_back({.type = ConnectionEvent::Type::kRejected, .failure = {}});
      }
      return;
    case mpa::StartupState::kFailed:
      events_.push_back({.type = ConnectionEvent::Type::kFailed, .failure = startup_.failure()});
      over(ConnectionCause::kLost, SocketAction::kClose);  // [MPA-66] [MPA-84] [MPA-90] [MPA-111]
      return;
    default:
      return;
  }
}

void Connection::enter_full_operation(TimePoint now) {
  const mpa::Negotiated& n = startup_.negotiated();
  const bool doomed = startup_.failure().has_value() && startup_.failure()->send_terminate;
  const std::uint16_t ord = usable_ord(startup_, options_, asked_ord_);
  const rdmap::StreamOptions stream{
      .ird = n.ird,
      .ord = ord,
      .empty_reads_only = asked_ird_ == 0,
      .rtr_send_expected = role_ == mpa::Role::kResponder && n.peer_to_peer &&
                           startup_.peer_offer()->rtr.send && options_.startup.rtr_supported.send,
      .extensions = n.extensions,
      .send_immediate = n.send_immediate,
      .peer_acknowledged = n.peer_acknowledged};
  // Copy all payload if there is a CRC, a tap or markers. With a CRC, the octets sent must match
  // the CRC even if the application changes its memory after posting. A tap reads the octets after
  // they were sent. Markers would cut the payload into pieces of 512 octets.
  const bool copies = n.crc || n.tx_markers || tap_ != nullptr;
  const mpa::FramerOptions framer{.markers = n.tx_markers,
                                  .crc = n.crc,
                                  .ring = options_.transmit_batch,
                                  .max_pieces = kMaxPieces,
                                  .copy_below = copies ? mpa::kMaxMulpdu : kCopyBelow};
  const mpa::DeframerOptions deframer{
      .markers = n.rx_markers, .crc = n.crc, .stage = options_.stage};
  StreamPort& port = stream_port(*qp_);
  auto loose = options_.latitude ? std::make_unique<LooseUlp>(port, options_.latitude()) : nullptr;
  rdmap::Ulp& ulp = ulp_of(port, loose.get(), observed_.get());
  full_ = std::make_unique<Full>(doomed ? nullptr : &port, ulp, stream, framer, deframer);
  full_->loose = std::move(loose);
  if (full_->loose != nullptr) full_->loose->set_stream(full_->stream);
  update_mulpdu();
  step(ConnectionCause::kFullOperation);
  if (role_ == mpa::Role::kInitiator) {
    if (options_.first_fpdu_delay > Duration::zero()) {
      full_->deadlines.set(Deadline::kFirstFpdu, now + options_.first_fpdu_delay);
    } else {
      open_gate();
    }
  }
  if (doomed) return refuse_full_operation(*startup_.failure(), now);  // [EMPA-24] [EMPA-39]
  if (!port.open(driver_, terms_for(n, options_, ord, {.ird = asked_ird_, .ord = asked_ord_}),
                 observed_.get())) {
    full_->port = nullptr;
    return refuse_full_operation({.fault = mpa::kLocalCatastrophic}, now);  // [EMPA-44]
  }
  report_states();
  // Send the RTR before all other messages. [EMPA-1] [EMPA-38]
  if (n.rtr != mpa::Rtr::kNone) full_->stream.send_rtr(rtr_kind(n.rtr));
  // If an RTR was negotiated, the responder is established only when the RTR has arrived. [MPA-102]
  if (role_ == mpa::Role::kInitiator || !n.peer_to_peer) return establish();
  full_->deadlines.set(Deadline::kRtr, now + options_.startup.timeout);
}

// Ends set-up with kFailed, and reports the failure to the peer with a Terminate.
// Deviation: with LocalErrors::kDepart, this end reports its own errors only with a FIN. [EMPA-44]
void Connection::refuse_full_operation(const mpa::Failure& failure, TimePoint now) {
  events_.push_back({.type = ConnectionEvent::Type::kFailed, .failure = failure});
  const bool departs = options_.local_errors == LocalErrors::kDepart;
  if (departs && failure.fault == mpa::kLocalCatastrophic) return local_error();
  full_->stream.terminate(failure.fault, false);
  settle(now);
}

void Connection::establish() {
  if (full_->established) return;
  full_->established = true;
  events_.push_back({.type = ConnectionEvent::Type::kEstablished, .failure = {}});
}

void Connection::open_gate() {
  full_->deadlines.clear(Deadline::kFirstFpdu);
  full_->deadlines.clear(Deadline::kRtr);
  if (is_gated(state_)) step(ConnectionCause::kGateOpened);
}

void Connection::update_mulpdu() {
  const bool markers =
      startup_.state() == mpa::StartupState::kFullOperation && startup_.negotiated().tx_markers;
  mulpdu_ = mpa::mulpdu_for(emss_, markers);
  if (options_.max_ulpdu != 0) {
    mulpdu_.octets = std::clamp(options_.max_ulpdu, mpa::kMinMulpdu, mpa::kMaxMulpdu);
  }
  if (full_ == nullptr) return;
  full_->segment_need =
      full_->framer.need(kLargestHeader, mulpdu_.octets - kLargestHeader, mpa::PayloadMode::kCopy);
}

// Control -----------------------------------------------------------------------------------------

void Connection::disconnect(TimePoint now) {
  if (full_ == nullptr) return over(ConnectionCause::kLost, SocketAction::kReset);
  if (full_->hold == Full::Hold::kForReceive && !full_->is_acknowledged()) {
    full_->refuse_held();
  }
  if (state_ == ConnectionState::kGated || state_ == ConnectionState::kOpen) {
    step(ConnectionCause::kCloseRequested);
  }
  extend_close(now);
  settle(now);
}

void Connection::terminate(const bytes::Fault& fault, TimePoint now) {
  if (full_ == nullptr) return;
  note_end(StreamEnd::Cause::kAborted);
  full_->stream.terminate(fault, false);
  settle(now);
}

void Connection::abort() {
  note_end(StreamEnd::Cause::kAborted);
  over(ConnectionCause::kLost, SocketAction::kReset);  // [VRB-11]
}

// The end -----------------------------------------------------------------------------------------

void Connection::peer_closed(TimePoint now) {
  if (tap_ != nullptr) tap_->closed(false, false, now);
  if (full_ == nullptr) {
    startup_.closed(now);
    startup_progress(now);
    if (startup_.state() == mpa::StartupState::kRejected) {
      over(ConnectionCause::kClosed, SocketAction::kClose);
    }
    return;
  }
  Full& f = *full_;
  f.fin_received = true;
  if (f.port != nullptr && !discarding()) {
    const bool work = !f.deframer.at_boundary() || f.port->is_mid_message() || !f.port->is_idle() ||
                      f.stream.inbound_reads() != 0 || f.stream.awaits_send() ||
                      f.hold != Full::Hold::kNone;
    if (work || !f.established) {
      note_end(StreamEnd::Cause::kPeerClosed);
      if (!f.release_sources(true)) return lost(now);
      f.port->peer_gone();
      f.port->event(QpEvent::kPeerClosedEarly);  // [VRB-8]
      f.stream.terminate(mpa::kTcpLost, false);
    } else if (f.port->state() == QpState::kRts) {
      f.port->event(QpEvent::kPeerClosed);  // [DDP-59] [DDP-60] [MPA-107]
      report_states();
      if (state_ == ConnectionState::kGated || state_ == ConnectionState::kOpen) {
        step(ConnectionCause::kCloseRequested);
      }
    }
  }
  settle(now);
}

void Connection::lost(TimePoint now) {
  if (tap_ != nullptr) tap_->closed(false, true, now);
  if (full_ == nullptr) {
    startup_.closed(now);
    startup_progress(now);
  }
  note_end(StreamEnd::Cause::kLost);
  if (full_ != nullptr && full_->port != nullptr) full_->port->peer_gone();
  over(ConnectionCause::kLost, SocketAction::kClose);  // [MPA-108]
}

// Ends the stream because a request or receive has failed although the peer has made no error.
void Connection::local_error() {
  Full& f = *full_;
  note_end(StreamEnd::Cause::kLocalError);
  if (f.port != nullptr) f.port->local_error();
  const bool departs = options_.local_errors == LocalErrors::kDepart && !f.discards();
  if (!departs) return f.stream.terminate(rdmap::kLocalCatastrophic, false);  // [RDMAP-92] [VRB-54]
  over(ConnectionCause::kLost, at_rest() ? SocketAction::kDepart : SocketAction::kReset);
}

// Handles the end of the stream. Call before a Terminate is framed. Later calls have no effect.
void Connection::stream_ended(TimePoint now) {
  if (has_ended(state_)) return;
  Full& f = *full_;
  const bool half_closed = state_ == ConnectionState::kHalfClosed;
  note_end(f.stream.own_terminate() ? StreamEnd::Cause::kTerminateSent
                                    : StreamEnd::Cause::kTerminateReceived);
  // A responder that is not yet permitted to transmit cannot send a Terminate. [MPA-93]
  const bool mute = is_gated(state_) && !f.deadlines.is_set(Deadline::kFirstFpdu);
  step(ConnectionCause::kStreamEnded);
  f.hold = Full::Hold::kNone;
  f.deadlines.clear(Deadline::kReceive);
  f.deframer.abandon_placement();
  // The answers to the peer's Reads precede this end's Terminate. After the peer's Terminate,
  // nothing is sent.
  const bool can_go_on = f.release_sources(f.stream.own_terminate().has_value());
  f.deadlines.set(Deadline::kClose, now + options_.close_timeout);  // [VRB-12]
  if (f.port != nullptr && f.stream.own_terminate()) {
    if (!half_closed) f.port->peer_fault(*f.stream.own_terminate(), !mute && can_go_on);
    f.port->event(QpEvent::kStreamError);
  }
  report_states();
  if (mute) return over(ConnectionCause::kClosed, SocketAction::kClose);
  // If octets of a partly sent FPDU are lost, no Terminate can follow that FPDU, so reset TCP.
  if (!can_go_on) over(ConnectionCause::kLost, SocketAction::kReset);
}

// Half-closes TCP when all output has been sent, and closes it when both ends have half-closed.
void Connection::close_progress(TimePoint now) {
  // Deviation: until first_fpdu_delay is over, an initiator sends nothing, not even a FIN.
  if (full_->deadlines.is_set(Deadline::kFirstFpdu)) return;
  switch (state_) {
    case ConnectionState::kGatedClosing:
    case ConnectionState::kDraining:
      return close_when_drained(now);
    case ConnectionState::kHalfClosed:
      if (full_->stream.inbound_reads() != 0) {
        // The peer's Read or Atomic Request can no longer be answered. [VRB-17]
        over(ConnectionCause::kLost, SocketAction::kReset);
      } else if (full_->fin_received) {
        over(ConnectionCause::kClosed, SocketAction::kClose);
      }
      return;
    case ConnectionState::kTerminating:
    case ConnectionState::kTerminated:
      return close_terminated();
    default:
      return;
  }
}

void Connection::close_when_drained(TimePoint now) {
  Full& f = *full_;
  if (f.port->state() == QpState::kRts) {
    // First send the requests that were posted before the close, in order. [DDP-56] [RDMAP-88]
    if (!f.port->is_idle() || f.stream.has_output() || f.framer.queued_octets() != 0 ||
        f.awaits_ack_request(now, options_.ack_request_wait)) {
      return;
    }
    f.port->event(QpEvent::kCloseRequested);
    report_states();
    f.deadlines.set(Deadline::kClose, now + options_.close_timeout);
  }
  step(ConnectionCause::kDrained);
  socket_action_ = SocketAction::kShutdownSend;  // This end continues to receive. [DDP-61]
  close_progress(now);
}

// Sends the whole Terminate of this end, followed by a FIN and not by an RST, so that the Terminate
// arrives. After the peer's Terminate, sends nothing. [RDMAP-88] [RDMAP-90]
void Connection::close_terminated() {
  const bool unsaid = full_->stream.state() == rdmap::StreamState::kTerminating ||
                      full_->framer.queued_octets() != 0;
  if (state_ == ConnectionState::kTerminating) {
    if (unsaid) return;
    step(ConnectionCause::kTerminateLeft);
    socket_action_ = SocketAction::kShutdownSend;
  } else if (unsaid) {
    // A Terminate cannot follow a FIN. [VRB-17]
    return over(ConnectionCause::kLost, SocketAction::kReset);
  }
  if (full_->fin_received) over(ConnectionCause::kClosed, SocketAction::kClose);
}

void Connection::over(ConnectionCause cause, SocketAction action,
                      const mpa::Failure& unestablished) {
  if (state_ == ConnectionState::kOver || !step(cause)) return;
  note_end(cause == ConnectionCause::kClosed ? StreamEnd::Cause::kClosed : StreamEnd::Cause::kLost);
  socket_action_ = action;
  if (full_ == nullptr) return;
  Full& f = *full_;
  f.deadlines.clear_all();
  f.deframer.abandon_placement();
  f.terminate_left = f.stream.state() == rdmap::StreamState::kTerminateSent;
  f.stream.lower_layer_closed();
  if (f.port != nullptr) {
    f.port->event(cause == ConnectionCause::kClosed ? QpEvent::kLowerLayerClosed
                                                    : QpEvent::kLowerLayerLost);
    if (f.established) {
      events_.push_back({.type = ConnectionEvent::Type::kDisconnected, .failure = {}});
    } else {
      events_.push_back({.type = ConnectionEvent::Type::kFailed, .failure = unestablished});
    }
  }
  f.framer.drop_unsent();
  report_states();
}

// Poll --------------------------------------------------------------------------------------------

std::optional<ConnectionEvent> Connection::event() {
  if (events_.empty()) return std::nullopt;
  const ConnectionEvent first = events_.front();
  events_.pop_front();
  return first;
}

SocketAction Connection::socket_action() {
  return socket_action_ == SocketAction::kShutdownSend
             ? std::exchange(socket_action_, SocketAction::kNone)
             : socket_action_;
}

std::optional<TimePoint> Connection::timeout() const {
  if (state_ == ConnectionState::kOver) return std::nullopt;
  if (full_ == nullptr) return startup_.timeout();
  const auto first = full_->deadlines.first();
  const auto answer = full_->is_acknowledged() ? answer_due() : std::nullopt;
  return first && answer ? std::min(first, answer) : first ? first : answer;
}

void Connection::handle_timeout(TimePoint now) {
  if (full_ == nullptr) {
    startup_.handle_timeout(now);
    startup_progress(now);
  }
  give_up_if_due(now);
  const auto passed = [&](Deadline deadline) {
    return full_ != nullptr && full_->deadlines.has_passed(deadline, now);
  };
  if (passed(Deadline::kReceive)) receive_overdue(now);
  if (passed(Deadline::kFirstFpdu)) {
    open_gate();
    settle(now);
  }
  if (passed(Deadline::kAckRequest)) settle(now);
  if (passed(Deadline::kRtr)) {  // reset TCP, because no Terminate may be sent yet [MPA-93]
    over(ConnectionCause::kLost, SocketAction::kReset,
         {.fault = mpa::kStartupTimeout, .timed_out = true});
  }
  if (passed(Deadline::kClose)) {
    const StreamPort* const port = full_->port;
    const bool terminating = port != nullptr && port->state() == QpState::kTerminate;
    note_end(StreamEnd::Cause::kCloseTimeout);
    over(terminating ? ConnectionCause::kClosed : ConnectionCause::kLost, SocketAction::kReset);
  }
}

}  // namespace iwarp::verbs
