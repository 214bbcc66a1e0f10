// SPDX-License-Identifier: Apache-2.0
// What a Connection has in full operation: both halves of MPA and the RDMAP stream above them.
#pragma once

#include "iwarp/verbs/connection.hpp"

namespace iwarp::verbs {

struct Connection::Full {
  Full(QueuePair* queue_pair, rdmap::Ulp& ulp, const rdmap::StreamOptions& stream_options,
       const mpa::FramerOptions& framer_options, const mpa::DeframerOptions& deframer_options)
      : qp(queue_pair),
        stream(ulp, stream_options),
        framer(framer_options),
        deframer(deframer_options) {}

  QueuePair* qp;  ///< null: set-up failed, only a Terminate is sent
  rdmap::Stream stream;
  mpa::Framer framer;
  mpa::Deframer deframer;
  rdmap::OutSegment out;

  /// Responder: not before the first valid FPDU. [MPA-93] Initiator: not before transmit_from.
  bool may_transmit = false;
  std::optional<TimePoint> transmit_from;  ///< ConnectionOptions::first_fpdu_delay
  bool established = false;
  bool began_early = false;     ///< stream.begin() was called for an FPDU still arriving
  bool early_write = false;     ///< it is an RDMA Write
  bytes::Scatter early_target;  ///< where its payload goes meanwhile
  bool noted_end = false;       ///< the stream has left RDMA mode and everybody was told
  bool fin_received = false;
  bool close_requested = false;
  std::optional<TimePoint> hold_until;  ///< no receive posted: the stream is held
  bool hold = false;
  bool hold_for_pins = false;      ///< held until an invalidated STag is in nobody's hands
  std::optional<TimePoint> retry;  ///< look again whether an invalidate or a held Send can go on
  std::uint64_t octets_copied = 0;
};

}  // namespace iwarp::verbs
