// SPDX-License-Identifier: Apache-2.0
// What a Connection has in full operation: both halves of MPA and the RDMAP stream above them.
#pragma once

#include "connection/connection_fsm.hpp"
#include "connection/deadlines.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/rdmap/stream.hpp"
#include "iwarp/verbs/connection.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {

// Defined in connection_answers.cpp.
struct Reads {
  std::uint16_t ird = 0;
  std::uint16_t ord = 0;
};
/// Returns the Reads to name to the peer: `wanted` plus the Reads that acknowledge, each way.
Reads reads_to_ask(const Reads& wanted, const ConnectionOptions& options);
mpa::StartupOptions startup_options(const ConnectionOptions& options);
/// `asked` is the program's ORD.
std::uint16_t usable_ord(const mpa::Startup& startup, const ConnectionOptions& options,
                         std::uint16_t asked);
StreamPort::Terms terms_for(const mpa::Negotiated& n, const ConnectionOptions& options,
                            std::uint16_t usable, std::uint16_t asked);

struct Connection::Full {
  Full(StreamPort* stream_port, rdmap::Ulp& ulp, const rdmap::StreamOptions& stream_options,
       const mpa::FramerOptions& framer_options, const mpa::DeframerOptions& deframer_options)
      : port(stream_port),
        stream(ulp, stream_options),
        framer(framer_options),
        deframer(deframer_options) {}

  StreamPort* port;  ///< null if set-up failed and only a Terminate is sent
  rdmap::Stream stream;
  mpa::Framer framer;
  mpa::Deframer deframer;
  rdmap::OutSegment out;
  /// The framer's need for any segment; follows the MULPDU.
  mpa::Framer::Need segment_need;

  Deadlines deadlines;
  bool established = false;  ///< and the event was queued
  /// Open and established, and all of the start-up is sent. Set by transmit_plan(), cleared by the
  /// next change of the connection's state.
  bool is_set_up = false;
  bool fin_received = false;

  /// An FPDU that is still arriving and for which stream.begin() was called.
  struct Early {
    bool is_write = false;  ///< an RDMA Write
    bytes::Scatter target;  ///< where its payload is placed as it arrives
  };
  std::optional<Early> early;

  /// While a hold is set, nothing is read.
  enum class Hold : std::uint8_t {
    kNone,
    kForReceive,  ///< until a receive is posted or Deadline::kReceive passes
    kForMemory,   ///< until the last user of an invalidated STag has unpinned it
  };
  Hold hold = Hold::kNone;
  /// Refuses the message that waits for a receive. [DDP-68] [DDP-69]
  void refuse_held() {
    deadlines.clear(Deadline::kReceive);
    stream.terminate(ddp::kUntaggedNoBuffer, true);
  }
  bool more_to_frame() const {
    return stream.has_output() || (port != nullptr && port->has_request());
  }
  bool discards() const { return stream.state() != rdmap::StreamState::kRdma; }
  bool is_acknowledged() const { return port != nullptr && port->is_acknowledged(); }
  /// The peer has sent a Send or Write after its last Read or atomic.
  bool is_unacknowledged = false;
  /// Call before requests are flushed: after that their memory is the consumer's again, and no
  /// octet of it may be read. A segment that is half sent continues from a copy. Returns false if
  /// it cannot. [VRB-14]
  bool release_sources() {
    framer.drop_unsent();  // The Terminate follows the segment that is half sent. [VRB-20]
    return framer.detach_all();
  }
  /// Returns whether the peer may still ask for an acknowledgement: see
  /// ConnectionOptions::ack_request_wait.
  bool awaits_ack_request(TimePoint now, Duration limit);
  TimePoint peer_seen;  ///< when the peer last sent, or acknowledged, an octet
  void note_peer_seen(const Now& now) {
    if (is_acknowledged()) peer_seen = now;  // Only then does this end wait for an answer.
  }
  std::uint64_t octets_copied = 0;

  // For end().
  StreamEnd::Cause end_cause = StreamEnd::Cause::kNone;
  std::optional<EndedWork> oldest_outstanding;  ///< when the stream ended
  std::uint64_t outstanding = 0;
  bool receive_missing = false;

  // For incidents().
  static constexpr std::uint64_t kNoFpdu = ~std::uint64_t{0};
  std::uint64_t held_at = kNoFpdu;  ///< number of FPDUs before the one that waited last
  std::uint64_t receive_holds = 0;
  std::uint64_t pins_broken = 0;
  bool terminate_left = false;
};

/// A close waits for work posted before it for as long as octets move.
inline void Connection::extend_close(const Now& now) {
  if (state_ == ConnectionState::kGatedClosing || state_ == ConnectionState::kDraining) {
    full_->deadlines.set(Deadline::kClose, TimePoint(now) + options_.close_timeout);
  }
}

/// Called after each call that may have changed the stream or the queue pair, so several times in a
/// turn of the driver. Passes changes between the two, and advances a close. Inline, since mostly
/// nothing has changed.
inline void Connection::settle(const Now& now) {
  if (full_ == nullptr || state_ == ConnectionState::kOver) return;
  Full& f = *full_;
  if (f.port != nullptr && f.port->settle()) local_error();
  if (f.discards()) stream_ended(now);
  if (state_ != ConnectionState::kOpen) close_progress(now);
}

}  // namespace iwarp::verbs
