// SPDX-License-Identifier: Apache-2.0
// Set-up, control and the end of a connection. The octets themselves: connection_data.cpp.
#include "iwarp/verbs/connection.hpp"

#include <algorithm>

#include "connection_impl.hpp"

namespace iwarp::verbs {
namespace {

// Every connection has these, busy or not.
constexpr std::size_t kScratch = 4 * 1024;
constexpr std::size_t kMaxPieces = 512;
// Payload up to this size is copied next to its header, in the same pass as its CRC. Cheaper than
// two more pieces for the kernel to gather; at the EMSS of Ethernet as well.
constexpr std::size_t kCopyBelow = 2048;
constexpr auto kRetry = std::chrono::milliseconds(1);

rdmap::RtrKind rtr_kind(mpa::Rtr rtr) {
  switch (rtr) {
    case mpa::Rtr::kRead:
      return rdmap::RtrKind::kRead;
    case mpa::Rtr::kSend:
      return rdmap::RtrKind::kSend;
    default:
      return rdmap::RtrKind::kWrite;
  }
}

bool overlaps(const bytes::Scatter& pieces, bytes::View memory) {
  const auto inside = [memory](const bytes::Span& piece) {
    return piece.data() < memory.data() + memory.size() &&
           memory.data() < piece.data() + piece.size();
  };
  return std::any_of(pieces.begin(), pieces.end(), inside);
}

// Stands in for the queue pair when set-up failed and only a Terminate is to be sent.
class NoUlp final : public rdmap::Ulp {
 public:
  bool next_request(bool, rdmap::Request&) override { return false; }
  void sent(std::uint64_t) override {}
  void read_done(std::uint64_t) override {}
  void atomic_done(std::uint64_t, std::uint64_t) override {}
  std::expected<bytes::Span, AccessError> write_target(Stag, rdmap::TaggedOffset,
                                                       std::uint32_t) override {
    return std::unexpected(AccessError::kStagInvalid);
  }
  void release_target() override {}
  std::expected<bytes::View, AccessError> read_source(Stag, rdmap::TaggedOffset,
                                                      std::uint32_t) override {
    return std::unexpected(AccessError::kStagInvalid);
  }
  void release_source() override {}
  std::expected<std::uint64_t, AccessError> atomic(const rdmap::AtomicRequest&) override {
    return std::unexpected(AccessError::kStagInvalid);
  }
  bytes::Result<ddp::UntaggedBuffer> receive_buffer() override {
    return bytes::fault(ddp::kUntaggedNoBuffer);
  }
  bytes::Result<void> send_received(const rdmap::ReceivedSend&) override { return {}; }
  void terminate_received(const rdmap::Terminate&) override {}
};

NoUlp& no_ulp() {
  static NoUlp ulp;
  return ulp;
}

}  // namespace

Connection::Connection(mpa::Role role, QueuePair* qp, std::weak_ptr<QpDriver> driver,
                       const ConnectionOptions& options, WireTap* tap)
    : role_(role),
      qp_(qp),
      driver_(std::move(driver)),
      options_(options),
      tap_(tap),
      startup_(role, options.startup),
      scratch_(kScratch) {
  update_mulpdu();
}

Connection::~Connection() = default;

// Set-up ------------------------------------------------------------------------------------------

bool Connection::connect(bytes::View private_data, TimePoint now) {
  return startup_.request(private_data, now);
}

void Connection::listen(TimePoint now) { startup_.listen(now); }

bool Connection::accept(QueuePair& qp, bytes::View private_data, std::uint16_t ird,
                        std::uint16_t ord, TimePoint now) {
  if (!startup_.accept(private_data, ird, ord)) return false;
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
  if (full_ != nullptr || wish_ == Wish::kClose) return;
  if (startup_told_ == startup_.state()) return;  // each state is told once
  startup_told_ = startup_.state();
  switch (startup_told_) {
    case mpa::StartupState::kAwaitDecision:
      events_.push_back({.type = ConnectionEvent::Type::kRequest, .failure = {}});
      return;
    case mpa::StartupState::kFullOperation:
      enter_full_operation(now);
      return;
    case mpa::StartupState::kRejected:
      // TCP stays open; closing it is up to whoever owns the socket. [MPA-86] [MPA-91]
      if (role_ == mpa::Role::kInitiator) {
        events_.push_back({.type = ConnectionEvent::Type::kRejected, .failure = {}});
      }
      return;
    case mpa::StartupState::kFailed:
      events_.push_back({.type = ConnectionEvent::Type::kFailed, .failure = startup_.failure()});
      wish_for(Wish::kClose);  // [MPA-66] [MPA-84] [MPA-90] [MPA-111]
      return;
    default:
      return;
  }
}

void Connection::enter_full_operation(TimePoint now) {
  const mpa::Negotiated& n = startup_.negotiated();
  const bool doomed = startup_.failure().has_value() && startup_.failure()->send_terminate;
  update_mulpdu();
  const rdmap::StreamOptions stream{
      .ird = n.ird,
      .ord = n.ord,
      .rtr_send_expected = role_ == mpa::Role::kResponder && n.peer_to_peer &&
                           startup_.peer_offer()->rtr.send && options_.startup.rtr_supported.send,
      .extensions = n.extensions};
  const mpa::FramerOptions framer{
      .markers = n.tx_markers, .crc = n.crc, .max_pieces = kMaxPieces, .copy_below = kCopyBelow};
  const mpa::DeframerOptions deframer{
      .markers = n.rx_markers, .crc = n.crc, .stage = options_.stage};
  full_ = std::make_unique<Full>(doomed ? nullptr : qp_, doomed ? no_ulp() : qp_->ulp(), stream,
                                 framer, deframer);
  if (role_ == mpa::Role::kInitiator) {
    full_->may_transmit = options_.first_fpdu_delay <= Duration::zero();
    if (!full_->may_transmit) full_->transmit_from = now + options_.first_fpdu_delay;
  }
  if (doomed) {
    events_.push_back({.type = ConnectionEvent::Type::kFailed, .failure = startup_.failure()});
    full_->stream.terminate(startup_.failure()->fault, false);  // [EMPA-24] [EMPA-39]
    settle(now);
    return;
  }
  if (!qp_->connected(driver_.lock(), n.ird, n.ord, stream.extensions)) {
    full_->qp = nullptr;
    events_.push_back({.type = ConnectionEvent::Type::kFailed,
                       .failure = mpa::Failure{.fault = mpa::kLocalCatastrophic}});
    full_->stream.terminate(mpa::kLocalCatastrophic, false);  // [EMPA-44]
    settle(now);
    return;
  }
  qp_->set_hold_on_empty(options_.receive_hold > Duration::zero());
  // The RTR goes first and nothing overtakes it. [EMPA-1] [EMPA-38]
  if (n.rtr != mpa::Rtr::kNone) full_->stream.send_rtr(rtr_kind(n.rtr));
  // With RTR agreed on, the responder is not established before it came.
  if (role_ == mpa::Role::kInitiator || !n.peer_to_peer) establish();
}

void Connection::establish() {
  if (full_->established) return;
  full_->established = true;
  events_.push_back({.type = ConnectionEvent::Type::kEstablished, .failure = {}});
}

void Connection::set_emss(std::size_t octets) {
  emss_ = octets;
  update_mulpdu();
}

void Connection::update_mulpdu() {
  const bool markers =
      startup_.state() == mpa::StartupState::kFullOperation && startup_.negotiated().tx_markers;
  mulpdu_ = mpa::mulpdu_for(emss_, markers);
  if (options_.max_ulpdu != 0) {
    mulpdu_.octets = std::clamp(options_.max_ulpdu, mpa::kMinMulpdu, mpa::kMaxMulpdu);
  }
}

// Control -----------------------------------------------------------------------------------------

void Connection::disconnect(TimePoint now) {
  if (full_ == nullptr) {
    over(QpEvent::kLowerLayerLost, Wish::kReset);
    return;
  }
  full_->close_requested = true;
  close_progress(now);
  settle(now);
}

// Draining before a close takes as long as octets move, and no longer.
void Connection::close_progress(TimePoint now) {
  if (!full_->close_requested || full_->qp == nullptr) return;
  if (full_->qp->state() == QpState::kRts) close_deadline_ = now + options_.close_timeout;
}

void Connection::terminate(const bytes::Fault& fault, TimePoint now) {
  if (full_ == nullptr) return;
  full_->stream.terminate(fault, false);
  settle(now);
}

void Connection::abort(TimePoint now) {
  (void)now;
  over(QpEvent::kLowerLayerLost, Wish::kReset);  // [VRB-11]
}

void Connection::resume(TimePoint now) {
  if (full_ == nullptr || !full_->hold) return;
  full_->hold = full_->qp != nullptr && !full_->qp->finish_invalidate();
  full_->hold_for_pins = full_->hold;
  run_inbound(now);
}

void Connection::revoke(const Region& region, TimePoint now) {
  if (full_ == nullptr || full_->qp == nullptr) return;
  const bytes::View memory(region.address, region.length);
  full_->framer.detach(memory);
  const bool mid_message = !full_->stream.at_message_boundary();
  if (full_->began_early && overlaps(full_->early_target, memory)) {
    full_->deframer.abandon_placement();
    if (full_->early_write) {
      inbound_fault(ddp::kTaggedInvalidStag);  // [VRB-37]
    } else {
      full_->stream.cancel();  // Not the peer's fault: see below.
      full_->began_early = false;
    }
  }
  if (full_->qp->revoke(region, mid_message)) {
    full_->stream.terminate(rdmap::kLocalCatastrophic, false);
  }
  settle(now);
}

// The end -----------------------------------------------------------------------------------------

void Connection::peer_closed(TimePoint now) {
  if (tap_ != nullptr) tap_->closed(false, false, now);
  if (full_ == nullptr) {
    startup_.closed(now);
    startup_progress(now);
    if (startup_.state() == mpa::StartupState::kRejected) wish_for(Wish::kClose);
    return;
  }
  Full& f = *full_;
  f.fin_received = true;
  if (f.stream.state() == rdmap::StreamState::kRdma && f.qp != nullptr) {
    const bool work =
        !f.deframer.at_boundary() || !f.qp->send_idle() || f.stream.inbound_reads() != 0 || f.hold;
    if (work || !f.established) {
      f.qp->event(QpEvent::kPeerClosedEarly);  // [VRB-8]
      f.stream.terminate(mpa::kTcpLost, false);
    } else {
      f.qp->event(QpEvent::kPeerClosed);  // [DDP-59] [DDP-60] [MPA-107]
      f.close_requested = true;
    }
  }
  settle(now);
}

void Connection::lost(TimePoint now) {
  if (tap_ != nullptr) tap_->closed(false, true, now);
  if (full_ == nullptr) {
    startup_.closed(now);
    startup_progress(now);
    wish_for(Wish::kClose);
    return;
  }
  over(QpEvent::kLowerLayerLost, Wish::kClose);  // [MPA-108]
}

// Called after anything that may have changed the stream: tells the queue pair, closes in order.
void Connection::settle(TimePoint now) {
  if (full_ == nullptr) return;
  Full& f = *full_;
  if (f.qp != nullptr && f.qp->take_local_failure()) {
    f.stream.terminate(rdmap::kLocalCatastrophic, false);  // [RDMAP-92] [VRB-54]
  }
  note_stream_state(now);
  if (f.qp != nullptr) {
    f.qp->flush_posted();
    // Nobody tells us when memory is let go or when a shared receive was posted.
    const bool ask_again =
        f.hold_for_pins || f.qp->waiting_for_pins() || (f.hold && f.qp->init().srq != nullptr);
    if (ask_again && !f.retry) f.retry = now + kRetry;
  }
  close_when_drained(now);
}

void Connection::note_stream_state(TimePoint now) {
  Full& f = *full_;
  const auto state = f.stream.state();
  if (state == rdmap::StreamState::kRdma || f.noted_end) return;
  f.noted_end = true;
  f.hold = false;
  f.hold_until.reset();
  f.deframer.abandon_placement();
  // The Terminate follows the segment that is half out, not a whole queue of them. [VRB-20]
  f.framer.drop_unsent();
  // What is half out is flushed all the same, and its memory the consumer's again. [VRB-14]
  f.framer.detach_all();
  close_deadline_ = now + options_.close_timeout;  // [VRB-12]
  if (f.qp != nullptr && f.stream.own_terminate()) {
    if (wish_ == Wish::kNone) f.qp->terminate_sent(*f.stream.own_terminate());
    f.qp->event(QpEvent::kStreamError);
  }
}

// Graceful closing: half close when everything has left, close when both halves are.
void Connection::close_when_drained(TimePoint now) {
  Full& f = *full_;
  const auto state = f.stream.state();
  // Deviation: an initiator may have to wait with its first FPDU, see first_fpdu_delay.
  if (f.transmit_from) return;
  const bool drained = f.framer.queued_octets() == 0;
  if (state == rdmap::StreamState::kRdma) {
    if (!f.close_requested || f.qp == nullptr) return;
    if (f.qp->state() == QpState::kRts) {
      // What was posted first leaves in order. [DDP-56] [RDMAP-88]
      if (!f.qp->send_idle() || f.stream.inbound_reads() != 0 || !drained) return;
      f.qp->event(QpEvent::kCloseRequested);
      close_deadline_ = now + options_.close_timeout;
    }
    if (f.stream.inbound_reads() != 0) {
      over(QpEvent::kLowerLayerLost, Wish::kReset);  // It can no longer be answered. [VRB-17]
      return;
    }
    wish_for(Wish::kShutdownSend);  // What still comes is taken. [DDP-61]
    if (f.fin_received) over(QpEvent::kLowerLayerClosed, Wish::kClose);
    return;
  }
  // A Terminate of ours has to leave whole; then FIN rather than RST, so that it arrives. After the
  // peer's nothing is sent. [RDMAP-88] [RDMAP-90]
  if (state == rdmap::StreamState::kTerminating || !drained) {
    if (wish_ == Wish::kShutdownSend) {
      over(QpEvent::kLowerLayerLost, Wish::kReset);  // No Terminate fits behind a FIN. [VRB-17]
    } else if (!f.may_transmit) {
      // A responder that may not transmit yet cannot say why it ends. [MPA-93]
      over(QpEvent::kLowerLayerClosed, Wish::kClose);
    }
    return;
  }
  wish_for(Wish::kShutdownSend);
  if (f.fin_received) over(QpEvent::kLowerLayerClosed, Wish::kClose);
}

void Connection::over(QpEvent event, Wish wish) {
  if (wish_ == Wish::kClose || wish_ == Wish::kReset) return;
  if (full_ != nullptr) {
    full_->deframer.abandon_placement();
    full_->stream.lower_layer_closed();
    if (full_->qp != nullptr) {
      full_->qp->event(event);
      if (full_->established) {
        events_.push_back({.type = ConnectionEvent::Type::kDisconnected, .failure = {}});
      } else {
        events_.push_back({.type = ConnectionEvent::Type::kFailed,
                           .failure = mpa::Failure{.fault = mpa::kTcpLost}});
      }
    }
    full_->framer.drop_unsent();
  }
  close_deadline_.reset();
  wish_for(wish);
}

void Connection::wish_for(Wish wish) { wish_ = std::max(wish_, wish); }

// Poll --------------------------------------------------------------------------------------------

std::optional<ConnectionEvent> Connection::event() {
  if (events_.empty()) return std::nullopt;
  const ConnectionEvent first = events_.front();
  events_.pop_front();
  return first;
}

Wish Connection::wish() {
  if (wish_ != Wish::kShutdownSend) return wish_;
  return std::exchange(shutdown_told_, true) ? Wish::kNone : wish_;
}

std::optional<TimePoint> Connection::timeout() const {
  if (wish_ == Wish::kClose || wish_ == Wish::kReset) return std::nullopt;
  auto first = startup_.timeout();
  const auto consider = [&first](const std::optional<TimePoint>& t) {
    if (t && (!first || *t < *first)) first = t;
  };
  consider(close_deadline_);
  if (full_ != nullptr) {
    consider(full_->hold_until);
    consider(full_->retry);
    consider(full_->transmit_from);
  }
  return first;
}

void Connection::handle_timeout(TimePoint now) {
  if (full_ == nullptr) {
    startup_.handle_timeout(now);
    startup_progress(now);
  } else if (full_->hold_until && now >= *full_->hold_until) {
    full_->hold_until.reset();
    full_->stream.terminate(ddp::kUntaggedNoBuffer, true);  // [DDP-68] [DDP-69]
    settle(now);
  }
  if (full_ != nullptr && full_->transmit_from && now >= *full_->transmit_from) {
    full_->transmit_from.reset();
    full_->may_transmit = true;
    settle(now);
  }
  if (full_ != nullptr && full_->retry && now >= *full_->retry) {
    full_->retry.reset();
    resume(now);
  }
  if (close_deadline_ && now >= *close_deadline_) {
    const bool terminating =
        full_ != nullptr && full_->qp != nullptr && full_->qp->state() == QpState::kTerminate;
    over(terminating ? QpEvent::kLowerLayerClosed : QpEvent::kLowerLayerLost, Wish::kReset);
  }
}

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
  if (full_->qp != nullptr) {
    c.octets_placed = full_->qp->octets_placed();
    c.completions = full_->qp->completions();
  }
  return c;
}

}  // namespace iwarp::verbs
