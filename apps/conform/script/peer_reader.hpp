// SPDX-License-Identifier: Apache-2.0
// PeerReader: the peer's octets turned into startup frames, FPDUs and endings that a case can
// judge. Decodes what came without an opinion; the expectations are Script's.
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

/// One FPDU of the peer.
struct Segment {
  ddp::SegmentHeader header;
  Octets ulpdu;
  Octets octets;  ///< the whole FPDU as it was on the wire
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

/// A message: header of its first segment, payload of all.
struct Message {
  ddp::SegmentHeader header;
  Octets payload;
  std::size_t segments = 0;
};

/// A Terminate as it came.
struct ReceivedTerminate {
  Segment segment;
  rdmap::Terminate terminate;   ///< understood, whichever layout it has
  bool standard_layout = true;  ///< the control word is laid out as RFC 5040 figure 8 has it
};

/// One thing the peer did.
struct Received {
  enum class Kind : std::uint8_t {
    kStartup,
    kSegment,
    kGarbage,  ///< octets in which no frame can be found
    kClosed,   ///< FIN
    kReset,
    kNothing,  ///< silence until the deadline
  };
  Kind kind = Kind::kNothing;
  std::optional<Segment> segment;
  std::optional<mpa::StartupFrame> startup;
  Octets octets;
  std::string why;  ///< kGarbage
};

/// The thing in words: "a Send of 16 octets", "TCP closed (FIN)", "nothing".
std::string describe(const Received& received);
std::string describe(const ReceivedTerminate& terminate);

ReceivedTerminate read_terminate(const Segment& segment);

/// It reports this fault, in either layout: where it brings no headers back, nothing but the
/// nibbles tells the two apart.
bool reports(const ReceivedTerminate& terminate, const bytes::Fault& fault);

class PeerReader {
 public:
  /// `peer_is_initiator`: its startup frame is the Request.
  PeerReader();
  PeerReader(const PeerReader&) = delete;
  PeerReader& operator=(const PeerReader&) = delete;

  /// A new connection.
  void restart();
  /// Our own startup frame as it was meant: it decides whether the peer's FPDUs have markers.
  void said(const mpa::StartupFrame& frame);
  void octets(bytes::View octets);
  void ended(bool reset);

  std::optional<Received> next();

 private:
  void take(const trace::Frame& frame);

  std::unique_ptr<trace::StreamDecoder> decoder_;
  std::deque<Received> received_;
  std::optional<bool> end_;  ///< reset?
};

}  // namespace iwarp::apps::conform
