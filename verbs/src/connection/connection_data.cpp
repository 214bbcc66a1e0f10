// SPDX-License-Identifier: Apache-2.0
// Connection: where the next received octets are stored, what happens to a received FPDU, and which
// octets are sent next. This code connects MPA below with DDP and RDMAP above.
#include <algorithm>

#include "connection/connection_impl.hpp"
#include "iwarp/bytes/place.hpp"
#include "iwarp/bytes/touch.hpp"

namespace iwarp::verbs {
namespace {

// Smaller FPDUs are not placed while they arrive, because such placement is faster only if many
// octets of the FPDU are still to arrive.
constexpr std::size_t kPlaceAbove = 4096;
// Size of the buffer for startup frames and for input that is dropped.
constexpr std::size_t kScratch = 4096;

[[gnu::noinline]] void scatter_pieces(std::span<const bytes::View> pieces, std::size_t skip,
                                      const bytes::Scatter& target) {
  auto sink = target.begin();
  std::size_t at = 0;
  for (bytes::View piece : pieces) {
    const auto dropped = std::min(skip, piece.size());
    skip -= dropped;
    piece = piece.subspan(dropped);
    while (!piece.empty()) {
      const auto n = std::min(piece.size(), sink->size() - at);
      bytes::place_copy(sink->subspan(at), piece.first(n));
      piece = piece.subspan(n);
      at += n;
      if (at == sink->size()) {
        ++sink;
        at = 0;
      }
    }
  }
}

// Skips the first `skip` octets of `pieces` and copies the following octets to `target`, in order.
inline void scatter_copy(std::span<const bytes::View> pieces, std::size_t skip,
                         const bytes::Scatter& target) {
  if (pieces.size() == 1 && target.size() == 1) {  // the usual case
    bytes::place_copy(target.front(), pieces.front().subspan(skip));
  } else {
    scatter_pieces(pieces, skip, target);
  }
}

// Passes the first `n` octets of a plan to the tap.
template <typename Pieces>
[[gnu::noinline]] void show(WireTap& tap, bool sent, const Pieces& plan, std::size_t n,
                            TimePoint now) {
  for (const auto& piece : plan) {
    const auto take = std::min(n, piece.size());
    if (take != 0) tap.octets(sent, piece.first(take), now);
    n -= take;
  }
}

constexpr unsigned kRequests = rdmap::opcode_bit(rdmap::Opcode::kReadRequest) |
                               rdmap::opcode_bit(rdmap::Opcode::kAtomicRequest);
constexpr unsigned kAnswers = rdmap::opcode_bit(rdmap::Opcode::kReadResponse) |
                              rdmap::opcode_bit(rdmap::Opcode::kAtomicResponse);

/// Returns whether, after `message` has arrived, the peer may still ask for the acknowledgement of
/// a message. `before` is the result for the preceding message.
constexpr bool is_unacknowledged(rdmap::Opcode message, bool before) {
  return (rdmap::opcode_bit(message) & (kRequests | (before ? 0U : kAnswers))) == 0;
}

}  // namespace

// Inbound -----------------------------------------------------------------------------------------

bool Connection::discarding() const { return full_ != nullptr && full_->discards(); }

// Returns whether set-up ended with a rejection. Octets that arrive after that do not belong to
// MPA. [MPA-86] [MPA-91]
bool Connection::is_rejected() const {
  return full_ == nullptr && startup_.state() == mpa::StartupState::kRejected;
}

std::span<const bytes::Span> Connection::receive_plan() {
  if (state_ == ConnectionState::kOver || is_rejected()) {
    last_receive_plan_ = {};
  } else if (full_ == nullptr || discarding()) {
    scratch_.resize(kScratch);
    scratch_plan_ = scratch_;
    last_receive_plan_ = {&scratch_plan_, 1};
  } else if (full_->hold != Full::Hold::kNone && !full_->reads_ahead()) {
    last_receive_plan_ = {};  // Read nothing, so that TCP's window closes and the peer stops.
  } else {
    last_receive_plan_ = full_->deframer.plan();
  }
  return last_receive_plan_;
}

void Connection::rest() {
  if (full_ != nullptr) full_->deframer.rest();
}

bool Connection::is_held() const {
  if (state_ == ConnectionState::kOver || is_rejected()) return true;
  return full_ != nullptr && !discarding() && full_->hold != Full::Hold::kNone;
}

bool Connection::delays_fin() {
  if (state_ == ConnectionState::kOver || full_ == nullptr || !is_held()) return false;
  full_->fin_waits = true;
  return true;
}

void Connection::received(std::size_t n, const Now& now) {
  if (tap_ != nullptr) show(*tap_, false, last_receive_plan_, n, now);
  if (full_ == nullptr) {
    startup_received(bytes::View(scratch_).first(n), now);
    return;
  }
  // After the end of the stream, drop all segments. [DDP-81] [MPA-113]
  if (full_->discards()) return;
  full_->note_peer_seen(now);
  extend_close(now);
  run_inbound(now, n);
}

void Connection::startup_received(bytes::View octets, TimePoint now) {
  const auto used = startup_.receive(octets, now);
  startup_progress(now);
  if (is_rejected()) {
    read_ahead_ = octets.subspan(used);
    return;
  }
  // The octets after the startup frame belong to full operation. [MPA-64] [MPA-88]
  if (used != octets.size() && full_ != nullptr && !discarding()) {
    full_->deframer.feed(octets.subspan(used));
    run_inbound(now);
  }
  scratch_ = std::vector<std::byte>();  // An idle connection needs no buffer.
}

void Connection::run_inbound(const Now& now, std::size_t filled) {
  const auto work = [this, &now, filled] {
    if (filled != 0) full_->deframer.filled(filled);
    take_fpdus(now);
  };
  if (!bytes::guarded(work)) memory_gone(bytes::touching.address);
  settle(now);
}

// Handles FPDUs in stream order, so that when a Send or a Read is handled, every earlier Write has
// been placed. [VRB-44] [VRB-45]
inline void Connection::take_fpdus(const Now& now) {
  Full& f = *full_;
  while (!f.discards() && f.hold == Full::Hold::kNone) {
    const auto step = f.deframer.next(rdmap::Stream::kPrefix);
    if (!step) return inbound_fault(step.error());
    if (*step == mpa::Step::kNeedMore) return;
    if (*step == mpa::Step::kPartial) {
      begin_early();
    } else if (*step == mpa::Step::kPlaced) {
      f.early.reset();
      if (f.stream.end() && !segment_done()) return;
    } else if (!take_ulpdu(now)) {
      return;
    }
  }
  f.take_overtaking();
}

// Returns whether the segment that begins with `prefix` is handled before an earlier message that
// waits for a receive. The application may post that receive only after its requests have
// completed. So the peer's answers do not wait, nor does a Terminate if it decides requests of this
// end. Deviation: DDP delivers messages in order [DDP-51], but would also end the stream for lack
// of a receive. The peer cannot tell the difference.
bool Connection::Full::overtakes(bytes::View prefix) const {
  ddp::SegmentHeader header;
  if (!ddp::decode(prefix, header)) return false;
  const auto* const row = rdmap::find_opcode(header);
  if (row == nullptr) return false;
  if (row->opcode == rdmap::Opcode::kTerminate) return port->awaits_answer();
  const bool is_empty = prefix.size() == header.size();
  return (rdmap::opcode_bit(row->opcode) & kAnswers) != 0 ||
         (row->opcode == rdmap::Opcode::kWrite && is_empty &&
          rdmap::held_message(header.stag, header.to));
}

// If the current message waits for a receive, handles the segments behind it that overtake it.
void Connection::Full::take_overtaking() {
  if (hold != Hold::kForReceive) return;
  deframer.overtake([this] {
    if (discards() || !overtakes(deframer.prefix())) return false;
    if (stream.begin(deframer.prefix(), deframer.ulpdu_length())) place_ulpdu();
    return true;
  });
  held_at = deframer.counters().fpdus;  // the same FPDU still waits
}

// Discards an invalid FPDU and everything after it, and terminates the stream. [MPA-46] [MPA-113]
void Connection::inbound_fault(const bytes::Fault& fault) {
  if (full_->early) full_->stream.cancel();
  full_->early.reset();
  full_->stream.terminate(fault, fault.layer != bytes::Layer::kMpa);  // [VRB-22]
}

// Begins to place a large FPDU of which only a part has arrived. Without a CRC, its payload may be
// placed directly; with a CRC, only if the application has selected direct placement.
void Connection::begin_early() {
  Full& f = *full_;
  const auto length = f.deframer.ulpdu_length();
  const bool permitted = !startup_.negotiated().crc ||
                         options_.placement == Placement::kDirect;  // Deviation: see Placement
  // Do not place the first FPDU while it arrives: if this end had to refuse the FPDU, it would not
  // be permitted to send a Terminate yet. [MPA-93] If there is a tap, octets have to be received
  // into a buffer of the connection. A Latitude takes only whole segments.
  if (!permitted || is_gated(state_) || tap_ != nullptr || f.loose != nullptr) return;
  if (length < kPlaceAbove) return;
  if (!f.stream.begin(f.deframer.prefix(), length)) return;
  const auto& [header, payload, target, hold] = f.stream.arrival();
  if (hold) return;
  f.deframer.place(header.size(), target);
  f.early = Full::Early{.is_write = f.stream.arriving().opcode == rdmap::Opcode::kWrite,
                        .target = target};
}

// Handles a whole, verified ULPDU in the staging area. Returns false if the stream is held (see
// Full::Hold), or if nothing is staged after the ULPDU.
inline bool Connection::take_ulpdu(const Now& now) {
  Full& f = *full_;
  // A responder may transmit after a valid FPDU has arrived, even if DDP refuses its contents
  // [MPA-93]. An initiator that delays its first FPDU may now send it, because a peer that sends
  // FPDUs also receives them.
  if (!f.is_set_up) open_gate();
  if (!f.stream.begin(f.deframer.prefix(), f.deframer.ulpdu_length())) return true;
  const ddp::Arrival& arrival = f.stream.arrival();
  if (arrival.hold) {
    hold_for_receive(now);
    return false;
  }
  f.deadlines.clear(Deadline::kReceive);
  return !f.place_ulpdu() || segment_done();
}

// Places the payload of a ULPDU for which stream.begin() has succeeded, and ends its segment.
// Returns false if the peer broke a rule.
inline bool Connection::Full::place_ulpdu() {
  const ddp::Arrival& arrival = stream.arrival();
  bytes::begin_touch();
  scatter_copy(deframer.ulpdu(), arrival.header.size(), arrival.target);
  bytes::end_touch();
  octets_copied += arrival.length;
  const bool ends_stream = stream.arriving().opcode == rdmap::Opcode::kTerminate;
  if (ends_stream && arrival.header.last) (void)release_sources(false);
  return static_cast<bool>(stream.end());
}

// Finishes a segment that has been handled. Returns false if nothing is staged after the segment.
inline bool Connection::segment_done() {
  Full& f = *full_;
  const bool more = f.deframer.consume();
  // Until the connection is established, only the RTR can arrive. Ignore the RTR here, because the
  // peer never asks for an acknowledgement of it.
  if (f.established) {
    f.is_unacknowledged = is_unacknowledged(f.stream.arriving().opcode, f.is_unacknowledged);
  }
  if (f.port != nullptr && !f.port->finish_invalidate()) {
    f.hold = Full::Hold::kForMemory;
  }
  if (f.is_new) [[unlikely]] {
    // At the responder, the first segment is the RTR, which is no message of the application.
    if (f.established) f.first_message();
    establish();
  }
  return more;
}

// Outbound ----------------------------------------------------------------------------------------

std::span<const bytes::View> Connection::transmit_plan(std::size_t limit, const Now& now,
                                                       std::size_t batch) {
  last_transmit_plan_ = {};
  if ((full_ == nullptr || !full_->is_set_up) && !startup_is_over()) return last_transmit_plan_;
  batch = std::min(batch, options_.transmit_batch);
  frame_segments(now, batch);
  settle(now);
  if (!full_->is_set_up) {
    if (discarding()) frame_segments(now, batch);  // settle() may have queued a Terminate
    if (state_ == ConnectionState::kOver) return last_transmit_plan_;
  }
  last_transmit_plan_ = full_->framer.plan(limit);
  return last_transmit_plan_;
}

// Returns whether segments may be sent. Otherwise sets last_transmit_plan_ to the startup frames
// that have not been sent yet.
bool Connection::startup_is_over() {
  if (state_ == ConnectionState::kOver) return false;
  startup_out_ = startup_.transmit();
  if (!startup_out_.empty()) {
    last_transmit_plan_ = {&startup_out_, 1};
    return false;
  }
  if (full_ == nullptr || is_gated(state_)) return false;
  if (full_->deadlines.is_set(Deadline::kFirstFpdu)) return false;
  full_->is_set_up = state_ == ConnectionState::kOpen && full_->established;
  return true;
}

// A connection can be steady only in kOpen. In kOpen, a deadline is set only while the stream is
// held or while the peer has to answer a request, and both are checked here. Other states may set
// other deadlines.
bool Connection::is_steady() const {
  if (state_ != ConnectionState::kOpen || !events_.empty()) return false;
  if (socket_action_ != SocketAction::kNone) return false;
  const Full& f = *full_;
  return f.hold == Full::Hold::kNone && !f.discards() && !(f.is_acknowledged() && answer_due());
}

Output Connection::output() const {
  if (full_ == nullptr || !full_->is_set_up) return Output::kMessages;
  const Full& f = *full_;
  if (f.stream.has_output() || f.framer.queued_octets() != 0) return Output::kMessages;
  if (f.port == nullptr || !f.port->has_request()) return Output::kNone;
  return f.port->only_ack_request() ? Output::kAckRequest : Output::kMessages;
}

void Connection::let_posts_wait() const { full_->port->let_posts_wait(); }

inline void Connection::frame_segments(const Now& now, std::size_t batch) {
  Full& f = *full_;
  const auto frame = [&f, &now, batch, this] {
    while (f.framer.room(f.segment_need, batch)) {
      if (!f.stream.next_segment(mulpdu_.octets, f.out)) return;
      // call stream_ended() before frame(), because stream_ended() drops queued output
      if (f.discards()) stream_ended(now);
      const auto mode = f.out.copy_payload ? mpa::PayloadMode::kCopy : mpa::PayloadMode::kInPlace;
      f.framer.frame(bytes::View(f.out.header).first(f.out.header_size), f.out.payload, mode,
                     f.out.token);
      f.stream.segment_taken();
      if (!f.more_to_frame()) return;
    }
  };
  if (!bytes::guarded(frame)) memory_gone(bytes::touching.address);
}

void Connection::transmitted(std::size_t n, const Now& now) {
  if (tap_ != nullptr) show(*tap_, true, last_transmit_plan_, n, now);
  if (!startup_out_.empty()) {
    startup_.transmitted(n);
    startup_out_ = {};
    return;
  }
  if (full_ == nullptr) return;
  full_->framer.sent(n);
  full_->note_peer_seen(now);
  while (const auto token = full_->framer.pop_sent()) full_->stream.sent(*token);
  extend_close(now);
  settle(now);
}

bool Connection::awaits_peer() const {
  if (full_ != nullptr) return full_->deadlines.is_set(Deadline::kRtr);
  return startup_.state() == mpa::StartupState::kIdle ||
         startup_.state() == mpa::StartupState::kAwaitRequest;
}

void Connection::set_emss(std::size_t octets) {
  emss_ = octets;
  update_mulpdu();
}

bool Connection::at_rest() const {
  if (socket_action_ == SocketAction::kReset || !startup_.transmit().empty()) return false;
  if (full_ == nullptr) return startup_.state() == mpa::StartupState::kRejected;
  const Full& f = *full_;
  return f.framer.queued_octets() == 0 && f.stream.at_message_boundary() &&
         f.stream.state() != rdmap::StreamState::kTerminating;
}

}  // namespace iwarp::verbs
