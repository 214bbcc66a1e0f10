// SPDX-License-Identifier: Apache-2.0
// Frame: one MPA startup frame or FPDU (RFC 5044 sections 4 and 7.1) as an observer of the
// connection saw it, or octets that are neither. StreamDecoder makes frames.
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

/// The kind of a frame.
enum class FrameKind : std::uint8_t {
  kStartup,      ///< an MPA Request or Reply
  kFpdu,         ///< one FPDU, whose CRC may be wrong
  kUndecodable,  ///< octets in which no frame can be found
};

/// The result of checking a CRC field.
enum class CrcVerdict : std::uint8_t {
  kGood,     ///< the field matches the octets
  kBad,      ///< the field does not match the octets
  kNotUsed,  ///< the connection does not use CRCs, so the field is not checked
  kUnknown,  ///< the observer did not see all octets that the CRC covers
};

/// One frame. Each octet of a side is in exactly one Frame, in order.
struct Frame {
  Side from = Side::kNear;
  FrameKind kind = FrameKind::kUndecodable;
  std::uint64_t offset = 0;  ///< offset of the first octet in the TCP stream of that side
  /// The octets on the wire, with a zero for each octet that the observer did not see.
  bytes::View octets{};
  /// The number of octets that the observer did not see. A kUndecodable frame has either only
  /// octets that the observer saw (`missing` is 0), or only octets that it did not see (`octets` is
  /// empty).
  std::uint64_t missing = 0;

  mpa::StartupFrame startup{};  ///< set for kStartup only

  // The following members are set for kFpdu only.
  /// Number of octets, including markers, from the start of full operation to this FPDU.
  std::uint64_t position = 0;
  /// The distance, in octets, from the correct places of the markers to their actual places. The
  /// distance is above 0 only if the sender does not count CRC fields when it places markers;
  /// `position` is then the sender's count.
  std::uint64_t markers_late = 0;
  bytes::View ulpdu{};  ///< the ULPDU without markers, up to the first octet that was not seen
  std::size_t ulpdu_length = 0;           ///< the value of the ULPDU_Length field
  bool marked = false;                    ///< this direction carries markers
  std::vector<std::uint16_t> fpduptrs{};  ///< the FPDUPTRs of the markers in this FPDU, in order
  bool markers_agree = true;              ///< every marker points at this FPDU's ULPDU_Length
  /// If not `markers_agree`: the offset in `octets` of the first marker that points elsewhere, and
  /// the FPDUPTR that this marker should have.
  std::size_t wrong_marker = 0;
  std::uint16_t due_fpduptr = 0;
  CrcVerdict crc = CrcVerdict::kNotUsed;
  std::uint32_t crc_field = 0;
  std::uint32_t crc_computed = 0;  ///< the correct CRC; set for kGood and kBad
  bool guessed = false;  ///< startup was not seen, so whether there are markers and CRCs is a guess
  /// The decoder found this FPDU only because several headers follow each other. Neither a CRC nor
  /// a marker proves that an FPDU begins here, so these octets may be part of a payload.
  bool unsure = false;

  const char* why = "";  ///< reason for kUndecodable, a static string
};

}  // namespace iwarp::trace
