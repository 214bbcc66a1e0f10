// SPDX-License-Identifier: Apache-2.0
// What a Connection has in full operation: both halves of MPA and the RDMAP stream above them.
#pragma once

#include "connection_fsm.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/rdmap/stream.hpp"
#include "iwarp/verbs/connection.hpp"
#include "stream_port.hpp"

namespace iwarp::verbs {

struct Connection::Full {
  Full(StreamPort* stream_port, rdmap::Ulp& ulp, const rdmap::StreamOptions& stream_options,
       const mpa::FramerOptions& framer_options, const mpa::DeframerOptions& deframer_options)
      : port(stream_port),
        stream(ulp, stream_options),
        framer(framer_options),
        deframer(deframer_options) {}

  StreamPort* port;  ///< null: set-up failed, only a Terminate is sent
  rdmap::Stream stream;
  mpa::Framer framer;
  mpa::Deframer deframer;
  rdmap::OutSegment out;

  std::optional<TimePoint> transmit_from;  ///< ConnectionOptions::first_fpdu_delay
  bool established = false;                ///< and told
  bool fin_received = false;

  /// stream.begin() was called for an FPDU still arriving.
  struct Early {
    bool is_write = false;  ///< an RDMA Write
    bytes::Scatter target;  ///< where its payload goes meanwhile
  };
  std::optional<Early> early;

  /// Nothing is read while something is waited for.
  enum class Hold : std::uint8_t {
    kNone,
    kForReceive,  ///< that one is posted, until hold_until
    kForMemory,   ///< that an invalidated STag is in nobody's hands
  };
  Hold hold = Hold::kNone;
  std::optional<TimePoint> hold_until;
  std::uint64_t octets_copied = 0;
};

}  // namespace iwarp::verbs
