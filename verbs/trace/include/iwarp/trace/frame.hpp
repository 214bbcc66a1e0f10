// SPDX-License-Identifier: Apache-2.0
// Frame: one MPA startup frame or FPDU as an observer of the connection saw it (RFC 5044 sections 4
// and 7.1), or octets that are neither. Has values only; StreamDecoder makes frames.
#pragma once

#include <cstdint>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_frame.hpp"

namespace iwarp::trace {

/// The two ends of the connection, as seen by the observer.
enum class Side : std::uint8_t {
  kNear,  ///< the tapped end; in a capture, either of the two ends
  kFar,   ///< the other end
};
/// Returns the opposite side.
constexpr Side other(Side side) { return side == Side::kNear ? Side::kFar : Side::kNear; }

/// What a frame is.
enum class FrameKind : std::uint8_t {
  kStartup,      ///< an MPA Request or Reply
  kFpdu,         ///< one FPDU, whose CRC may be wrong
  kUndecodable,  ///< octets in which no frame can be found
};

/// The result of checking a CRC field.
enum class CrcVerdict : std::uint8_t {
  kGood,     ///< the field matches the octets
  kBad,      ///< the field does not match the octets
  kNotUsed,  ///< CRCs are negotiated off, so the field exists but is not checked
  kUnknown,  ///< some octets that the CRC covers were not seen
};

/// One frame. Each octet of a side is in exactly one Frame, in order.
struct Frame {
  Side from = Side::kNear;
  FrameKind kind = FrameKind::kUndecodable;
  std::uint64_t offset = 0;  ///< offset of the first octet in the TCP stream of that side
  bytes::View octets;        ///< the octets on the wire, with zeros for octets that were not seen
  /// The number of octets that were not seen. For kUndecodable, either all octets were not seen,
  /// and `octets` is empty, or all were seen, and this is 0.
  std::uint64_t missing = 0;

  mpa::StartupFrame startup;  ///< set for kStartup only

  // The following members are set for kFpdu only.
  /// Number of octets, including markers, that precede the first octet in full operation.
  std::uint64_t position = 0;
  /// How many octets after their correct places the markers are, because the sender does not count
  /// CRC fields; `position` is the sender's count. 0 if the markers are in their places.
  std::uint64_t markers_late = 0;
  bytes::View ulpdu;             ///< the ULPDU without markers, up to the first octet not seen
  std::size_t ulpdu_length = 0;  ///< the value of the ULPDU_Length field
  bool marked = false;           ///< this direction carries markers
  std::vector<std::uint16_t> fpduptrs;  ///< the FPDUPTRs of the markers in this FPDU, in order
  bool markers_agree = true;            ///< every marker points at this FPDU's ULPDU_Length
  /// If a marker does not: its offset in `octets`, and the FPDUPTR that it should have. If several
  /// do not, this is the first of them.
  std::size_t wrong_marker = 0;
  std::uint16_t due_fpduptr = 0;
  CrcVerdict crc = CrcVerdict::kNotUsed;
  std::uint32_t crc_field = 0;
  std::uint32_t crc_computed = 0;  ///< the correct CRC; set for kGood and kBad
  bool guessed = false;            ///< the use of markers and CRCs is a guess: startup was not seen
  /// The FPDU was found because several headers follow each other, but neither a CRC nor a marker
  /// proves that it begins here: it may be a part of a payload.
  bool unsure = false;

  const char* why = "";  ///< reason for kUndecodable, a static string
};

}  // namespace iwarp::trace
