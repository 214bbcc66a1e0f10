// SPDX-License-Identifier: Apache-2.0
// The fields of one frame, each with its octets on the wire: startup frames (RFC 5044 section
// 7.1.1, RFC 6581 section 9), FPDUs with their markers, DDP and RDMAP headers (RFC 5041 section 4,
// RFC 5040 section 4, RFC 7306), payload, PAD and CRC. For displays of octets. Judges nothing;
// Session does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

enum class Field : std::uint8_t {
  // Startup frames
  kKey,
  kMarkersBit,
  kCrcBit,
  kRejectBit,
  kEnhancedBit,
  kStartupReserved,
  kRevision,
  kPdLength,
  kPeerToPeer,
  kRtrSend,
  kIrd,
  kRtrWrite,
  kRtrRead,
  kOrd,
  kSmbIrd,
  kSmbOrd,
  kPrivateData,
  kExtensionsTag,
  // FPDUs
  kMarkerReserved,
  kFpduptr,
  kUlpduLength,
  kPad,
  kCrc,
  kNoHeader,  ///< a ULPDU too short for a DDP header
  kTagged,
  kLast,
  kDdpReserved,
  kDdpVersion,
  kStag,
  kTo,
  kQn,
  kMsn,
  kMo,
  kRdmapVersion,
  kRdmapReserved,
  kOpcode,
  kNoInvalidateStag,
  kInvalidateStag,
  kSinkStag,
  kSinkTo,
  kReadSize,
  kSourceStag,
  kSourceTo,
  kTerminateLayer,
  kErrorType,
  kErrorCode,
  kHeaderControl,
  kTerminateReserved,
  kSegmentLength,
  kTerminatedDdpHeader,
  kTerminatedRdmaHeader,
  kImmediate,
  kAtomicReserved,
  kAtomicOpcode,
  kRequestId,
  kRemoteStag,
  kRemoteTo,
  kAddOrSwap,
  kAddOrSwapMask,
  kCompare,
  kCompareMask,
  kOriginalRequestId,
  kOriginalValue,
  kPayload,
};

struct FieldInfo {
  Field field;
  std::string_view layer;    ///< "mpa", "marker", "ddp", "rdmap", "ulp"
  std::string_view name;     ///< the RFC's
  std::string_view section;  ///< where it is defined: "RFC 5044 4.1"
  std::string_view why;      ///< what it is for, one sentence
};

/// Returns all fields, in the order of Field.
std::span<const FieldInfo> all_fields();
const FieldInfo& info(Field field);
/// Returns the field whose value breaks that rule; nullopt if it is not a single one.
std::optional<Field> field_of(Rule rule);

/// A range of Frame::octets.
struct OctetRange {
  std::size_t begin = 0;
  std::size_t size = 0;
  constexpr bool operator==(const OctetRange&) const = default;
};

struct FieldAt {
  Field field;
  std::string value;               ///< in words, printable
  std::vector<OctetRange> octets;  ///< in order; several if markers are in between
  /// For a field smaller than its octets: its bits, counted from the highest of the first octet on,
  /// as in the RFCs. 0 bits: the whole octets.
  unsigned first_bit = 0;
  unsigned bits = 0;
};

/// Returns the fields in the order of the wire, with the markers in their places. Each octet that
/// was seen is in one field, or in several fields of bits. Octets that were not seen are in none.
std::vector<FieldAt> fields_of(const Explained& explained);

}  // namespace iwarp::apps::frames
