// SPDX-License-Identifier: Apache-2.0
// Frame: one MPA startup frame or FPDU as an observer of the connection saw it (RFC 5044 sections 4
// and 7.1), or octets that are neither. Values only; StreamDecoder makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_frame.hpp"

namespace iwarp::trace {

/// The two ends of the connection, as seen by the observer.
enum class Side : std::uint8_t {
  kNear,  ///< the tapped end; in a capture, one of the two
  kFar,   ///< the other end
};
/// Returns the opposite side.
constexpr Side other(Side side) { return side == Side::kNear ? Side::kFar : Side::kNear; }

/// What a frame is.
enum class FrameKind : std::uint8_t {
  kStartup,      ///< an MPA Request or Reply
  kFpdu,         ///< one FPDU, even with a wrong CRC
  kUndecodable,  ///< octets in which no frame can be found
};

/// What the check of a CRC field showed.
enum class CrcVerdict : std::uint8_t {
  kGood,     ///< the field matches the octets
  kBad,      ///< it does not
  kNotUsed,  ///< negotiated off: the field exists and is not checked
  kUnknown,  ///< some octets that it covers were not seen
};

/// One frame. Each octet of a side is in exactly one Frame, in order.
struct Frame {
  Side from = Side::kNear;
  FrameKind kind = FrameKind::kUndecodable;
  std::uint64_t offset = 0;  ///< of the first octet in the TCP stream of that side
  bytes::View octets;        ///< as on the wire; octets that were not seen are zero
  /// The number of octets that were not seen. kUndecodable: all of them, and then `octets` is
  /// empty, or none.
  std::uint64_t missing = 0;

  mpa::StartupFrame startup;  ///< kStartup

  // kFpdu
  std::uint64_t position = 0;  ///< of the first octet in full operation, markers counted
  /// How many octets after their places the markers are, because their sender does not count CRC
  /// fields; `position` is the sender's count. 0 if they are in their places.
  std::uint64_t markers_late = 0;
  bytes::View ulpdu;             ///< contiguous, without markers, up to the first octet not seen
  std::size_t ulpdu_length = 0;  ///< the value of its field
  bool marked = false;           ///< this direction carries markers
  std::vector<std::uint16_t> fpduptrs;  ///< the FPDUPTRs of the markers in this FPDU, in order
  bool markers_agree = true;            ///< every marker points at this FPDU's ULPDU_Length
  /// The first marker that does not: its place in `octets`, and the FPDUPTR that it should have.
  std::size_t wrong_marker = 0;
  std::uint16_t due_fpduptr = 0;
  CrcVerdict crc = CrcVerdict::kNotUsed;
  std::uint32_t crc_field = 0;
  std::uint32_t crc_computed = 0;  ///< kGood and kBad: over the octets that it covers
  bool guessed = false;            ///< markers and CRCs were inferred; startup was not seen
  /// Headers in a row led to it, but neither a CRC nor a marker proves that it begins here: it may
  /// be a part of a payload.
  bool unsure = false;

  const char* why = "";  ///< kUndecodable: the reason, a static string
};

}  // namespace iwarp::trace
