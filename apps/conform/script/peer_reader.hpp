// SPDX-License-Identifier: Apache-2.0
// PeerReader: decodes the octets from the peer into startup frames, FPDUs and the end of the
// connection. It does not compare them with expectations; Script does this.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "conform/script/fpdu.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/trace/stream_decoder.hpp"

namespace iwarp::apps::conform {

/// One FPDU that the peer has sent.
struct Segment {
  ddp::SegmentHeader header;
  Octets ulpdu;
  Octets octets;  ///< all octets of the FPDU, as the peer sent them
  std::uint64_t position = 0;
  trace::CrcVerdict crc = trace::CrcVerdict::kNotUsed;
  std::uint32_t crc_field = 0;
  std::vector<std::uint16_t> fpduptrs;
  bool markers_agree = true;

  std::uint8_t opcode() const { return header.rsvd_ulp & rdmap::kOpcodeMask; }
  bool is(rdmap::Opcode o) const { return opcode() == static_cast<std::uint8_t>(o); }
  bytes::View payload() const {
    return bytes::View(ulpdu).subspan(std::min(header.size(), ulpdu.size()));
  }
};

/// A message from the peer: the header of its first segment, and the payload of all its segments.
struct Message {
  ddp::SegmentHeader header;
  Octets payload;
  std::size_t segments = 0;
};

/// A Terminate that the peer has sent.
struct ReceivedTerminate {
  Segment segment;
  rdmap::Terminate terminate;   ///< the decoded Terminate, from either layout of the control word
  bool standard_layout = true;  ///< true if the control word has the layout of RFC 5040 figure 8
};

/// One event: a frame from the peer, the end of the connection, or the end of the wait at the
/// deadline.
struct Received {
  enum class Kind : std::uint8_t {
    kStartup,
    kSegment,
    kGarbage,  ///< octets that the decoder cannot parse as a frame
    kClosed,   ///< the peer sent a FIN
    kReset,
    kNothing,  ///< the deadline passed without an event
  };
  Kind kind = Kind::kNothing;
  std::optional<Segment> segment;
  std::optional<mpa::StartupFrame> startup;
  Octets octets;
  std::string why;  ///< for kGarbage: why the octets are no frame
};

/// Describes the event, for example "a Send of 16 octets" or "TCP closed (FIN)".
std::string describe(const Received& received);
std::string describe(const ReceivedTerminate& terminate);

ReceivedTerminate read_terminate(const Segment& segment);

/// Returns whether the Terminate reports this fault, in either layout of the control word. If the
/// Terminate returns no headers, only the order of Layer and EType distinguishes the two layouts.
bool reports(const ReceivedTerminate& terminate, const bytes::Fault& fault);

class PeerReader {
 public:
  PeerReader();
  PeerReader(const PeerReader&) = delete;
  PeerReader& operator=(const PeerReader&) = delete;

  /// Resets the decoder at the start of a new connection.
  void restart();
  /// Passes the tester's startup frame to the decoder. `frame` must be the valid frame, even if the
  /// case sends a corrupted copy. `frame` determines whether the peer's FPDUs have markers.
  void said(const mpa::StartupFrame& frame);
  void octets(bytes::View octets);
  void ended(bool reset);

  std::optional<Received> next();

 private:
  void take(const trace::Frame& frame);

  std::unique_ptr<trace::StreamDecoder> decoder_;
  std::deque<Received> received_;
  std::optional<bool> end_;  ///< set at the end of the connection: true if it was reset
};

}  // namespace iwarp::apps::conform
