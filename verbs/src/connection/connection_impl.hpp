// SPDX-License-Identifier: Apache-2.0
// Connection::Full: the part of a Connection that exists only in full operation. It contains both
// halves of MPA, and the RDMAP stream above them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "connection/connection_fsm.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/rdmap/stream.hpp"
#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "queue_pair/loose_ulp.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {

/// The events for which a connection waits. Deadlines that pass at the same time are handled in the
/// order of the enumerators.
enum class Deadline : std::uint8_t {
  /// a receive for a waiting Send; if the deadline passes, this end reports the wait or sends a
  /// Terminate [DDP-68]
  kReceive,
  kFirstFpdu,   ///< initiator: the end of first_fpdu_delay, before which it sends nothing
  kAckRequest,  ///< closing: the end of ack_request_wait, after which the close proceeds
  kRtr,         ///< responder: the arrival of the negotiated RTR
  kClose,       ///< the end of close_timeout, after which this end resets TCP [VRB-12]
};

/// How long a connection in full operation waits for each event. Two deadlines are computed
/// elsewhere: the deadline of set-up (mpa::Startup::timeout()), and the deadline of the peer's
/// answer (Connection::answer_due()), which depends on when the peer last sent something.
class Deadlines {
 public:
  Deadlines() { clear_all(); }
  void set(Deadline deadline, TimePoint at) { at_[index(deadline)] = at; }
  void clear(Deadline deadline) { at_[index(deadline)] = kNever; }
  void clear_all() { at_.fill(kNever); }
  /// Returns when the deadline passes. Call only if is_set().
  TimePoint at(Deadline deadline) const { return at_[index(deadline)]; }
  bool is_set(Deadline deadline) const { return at_[index(deadline)] != kNever; }
  bool has_passed(Deadline deadline, TimePoint now) const { return at_[index(deadline)] <= now; }
  std::optional<TimePoint> first() const {
    const TimePoint first = std::ranges::min(at_);
    return first == kNever ? std::nullopt : std::optional(first);
  }

 private:
  static constexpr TimePoint kNever = TimePoint::max();
  static constexpr std::size_t kCount = static_cast<std::size_t>(Deadline::kClose) + 1;
  static constexpr std::size_t index(Deadline deadline) {
    return static_cast<std::size_t>(deadline);
  }
  std::array<TimePoint, kCount> at_;
};

// The next functions are defined in connection_answers.cpp.
struct Reads {
  std::uint16_t ird = 0;
  std::uint16_t ord = 0;
};
/// Returns the IRD and ORD to offer to the peer. With Completions::kAcknowledged, both are larger
/// than in `wanted`, to leave room for the empty Reads with which each end asks the other end for
/// acknowledgements.
Reads reads_to_ask(const Reads& wanted, const ConnectionOptions& options);
mpa::StartupOptions startup_options(const ConnectionOptions& options);
/// Returns the ORD that this end may use for Reads of the application and for empty Reads that ask
/// for acknowledgements. `asked` is the ORD that the application wants.
std::uint16_t usable_ord(const mpa::Startup& startup, const ConnectionOptions& options,
                         std::uint16_t asked);
StreamPort::Terms terms_for(const mpa::Negotiated& n, const ConnectionOptions& options,
                            std::uint16_t usable_ord, const Reads& asked);

struct Connection::Full {
  Full(StreamPort* stream_port, rdmap::Ulp& ulp, const rdmap::StreamOptions& stream_options,
       const mpa::FramerOptions& framer_options, const mpa::DeframerOptions& deframer_options)
      : port(stream_port),
        stream(ulp, stream_options),
        framer(framer_options),
        deframer(deframer_options) {}

  /// Null if set-up failed and only a Terminate has to be sent. `stream` then calls no function of
  /// its Ulp, because it has ended before the first message.
  StreamPort* port;
  std::unique_ptr<LooseUlp> loose;  ///< null without a Latitude; used by `stream`
  rdmap::Stream stream;
  mpa::Framer framer;
  mpa::Deframer deframer;
  rdmap::OutSegment out;
  /// Room in the framer that is enough for any segment; depends on the MULPDU.
  mpa::Framer::Need segment_need;

  Deadlines deadlines;
  bool established = false;  ///< whether the event kEstablished has been queued
  bool is_new = true;        ///< whether no segment has arrived since then
  /// True if the connection is open and established and all startup frames have been sent.
  /// transmit_plan() sets this, and the next change of the connection's state clears it.
  bool is_set_up = false;
  /// Reports the first segment after the connection was established.
  void first_message() {
    is_new = false;
    if (port != nullptr) port->segment_arrived();
  }
  bool fin_received = false;

  /// An FPDU that is still arriving, and for which stream.begin() has been called.
  struct Early {
    bool is_write = false;  ///< whether the message is an RDMA Write
    bytes::Scatter target;  ///< memory in which the payload is placed as it arrives
  };
  std::optional<Early> early;

  /// The reason why the stream waits at present.
  enum class Hold : std::uint8_t {
    kNone,
    /// the current message waits until a receive is posted or Deadline::kReceive passes; only
    /// segments that need not wait with it are handled, see overtakes()
    kForReceive,
    kForMemory,  ///< the stream waits until an invalidated STag is no longer pinned
  };
  Hold hold = Hold::kNone;
  bool fin_waits = false;  ///< whether the FIN arrived while the stream waited
  /// Returns whether octets behind the message that waits for a receive are read, as far as the
  /// staging area has room for them. Not inlined, because receive_plan() is called for each
  /// message.
  [[gnu::noinline]] bool reads_ahead() const {
    return hold == Hold::kForReceive && !fin_waits && deframer.has_room();
  }
  bool overtakes(bytes::View prefix) const;
  [[gnu::cold, gnu::noinline]] void take_overtaking();
  bool place_ulpdu();
  /// Refuses the message that waits for a receive. [DDP-68] [DDP-69]
  void refuse_held() {
    deadlines.clear(Deadline::kReceive);
    // The Terminate echoes the segment of the last begin(), which may have overtaken this one.
    (void)stream.begin(deframer.prefix(), deframer.ulpdu_length());
    stream.terminate(ddp::kUntaggedNoBuffer, true);
  }
  bool more_to_frame() const {
    return stream.has_output() || (port != nullptr && port->has_request());
  }
  bool discards() const { return stream.state() != rdmap::StreamState::kRdma; }
  bool is_acknowledged() const { return port != nullptr && port->is_acknowledged(); }
  /// Whether the peer has sent a Send or Write after its last Read or atomic.
  bool is_unacknowledged = false;
  /// Drops the queued output, except a partly sent segment, after which a Terminate may follow
  /// [VRB-20]. If `answers`, also keeps the segments up to the last one that answers a Read or
  /// Atomic of the peer, if their memory can be read. Makes the framer stop using memory of the
  /// application, by copying what remains; returns false if the partly sent segment cannot be read.
  /// Call before requests are flushed, because the memory of flushed requests belongs to the
  /// application again and must not be read. [VRB-14]
  bool release_sources(bool answers) {
    if (answers) framer.drop_unsent(rdmap::kAnswerToken);
    if (answers && framer.detach_all()) return true;
    framer.drop_unsent();
    return framer.detach_all();
  }
  /// Returns whether the peer may still ask for an acknowledgement: see
  /// ConnectionOptions::ack_request_wait.
  bool awaits_ack_request(TimePoint now, Duration limit);
  TimePoint peer_seen;  ///< time at which the peer last sent or acknowledged octets
  void note_peer_seen(const Now& now) {
    if (is_acknowledged()) peer_seen = now;  // otherwise this end waits for no answer
  }
  std::uint64_t octets_copied = 0;

  // The members for Connection::end().
  StreamEnd::Cause end_cause = StreamEnd::Cause::kNone;
  /// oldest outstanding request when the stream ended
  std::optional<EndedWork> oldest_outstanding;
  std::uint64_t outstanding = 0;
  bool receive_missing = false;

  // The members for Connection::incidents().
  static constexpr std::uint64_t kNoFpdu = ~std::uint64_t{0};
  /// number of FPDUs that had been received when an FPDU last began to wait for a receive
  std::uint64_t held_at = kNoFpdu;
  std::uint64_t receive_holds = 0;
  /// whether AsyncEventType::kReceiveOverdue was raised
  bool wait_is_reported = false;
  std::uint64_t pins_broken = 0;
  bool terminate_left = false;
};

/// Extends the deadline of a close that waits for posted work, because octets were transferred.
inline void Connection::extend_close(const Now& now) {
  if (state_ == ConnectionState::kGatedClosing || state_ == ConnectionState::kDraining) {
    full_->deadlines.set(Deadline::kClose, TimePoint(now) + options_.close_timeout);
  }
}

/// Passes changes between the stream and the queue pair, and advances a close. Called after each
/// call that may have changed either of them, several times in one round of the driver's loop.
/// Inline, because in most calls nothing has changed.
inline void Connection::settle(const Now& now) {
  if (full_ == nullptr || state_ == ConnectionState::kOver) return;
  Full& f = *full_;
  if (f.port != nullptr && f.port->settle()) local_error();
  if (f.discards()) stream_ended(now);
  if (state_ != ConnectionState::kOpen) close_progress(now);
}

}  // namespace iwarp::verbs
