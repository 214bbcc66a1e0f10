// SPDX-License-Identifier: Apache-2.0
// PeerReader: decodes the peer's octets into startup frames, FPDUs and endings. Does not judge
// them; Script has the expectations.
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
  Octets octets;  ///< the whole FPDU as sent
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

/// A message: header of its first segment, payload of all segments.
struct Message {
  ddp::SegmentHeader header;
  Octets payload;
  std::size_t segments = 0;
};

/// A received Terminate.
struct ReceivedTerminate {
  Segment segment;
  rdmap::Terminate terminate;   ///< decoded, whichever layout it has
  bool standard_layout = true;  ///< the control word has the layout of RFC 5040 figure 8
};

/// One event from the peer.
struct Received {
  enum class Kind : std::uint8_t {
    kStartup,
    kSegment,
    kGarbage,  ///< octets that contain no frame
    kClosed,   ///< FIN
    kReset,
    kNothing,  ///< nothing until the deadline
  };
  Kind kind = Kind::kNothing;
  std::optional<Segment> segment;
  std::optional<mpa::StartupFrame> startup;
  Octets octets;
  std::string why;  ///< kGarbage
};

/// Describes the event: "a Send of 16 octets", "TCP closed (FIN)", "nothing".
std::string describe(const Received& received);
std::string describe(const ReceivedTerminate& terminate);

ReceivedTerminate read_terminate(const Segment& segment);

/// Returns whether the Terminate reports this fault in either layout. If it returns no headers,
/// only the nibbles distinguish the layouts.
bool reports(const ReceivedTerminate& terminate, const bytes::Fault& fault);

class PeerReader {
 public:
  PeerReader();
  PeerReader(const PeerReader&) = delete;
  PeerReader& operator=(const PeerReader&) = delete;

  /// Begins a new connection.
  void restart();
  /// Sets our startup frame as it was meant: it determines whether the peer's FPDUs have markers.
  void said(const mpa::StartupFrame& frame);
  void octets(bytes::View octets);
  void ended(bool reset);

  std::optional<Received> next();

 private:
  void take(const trace::Frame& frame);

  std::unique_ptr<trace::StreamDecoder> decoder_;
  std::deque<Received> received_;
  std::optional<bool> end_;  ///< set at the end of the connection: whether it was a reset
};

}  // namespace iwarp::apps::conform
