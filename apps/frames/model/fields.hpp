// SPDX-License-Identifier: Apache-2.0
// Splits one frame into its fields, each with its octets on the wire: startup frames (RFC 5044
// section 7.1.1, RFC 6581 section 9), FPDUs with their markers, DDP and RDMAP headers (RFC 5041
// section 4, RFC 5040 section 4, RFC 7306), payload, PAD and CRC. Displays of octets use it. It
// does not check the rules; Session does.
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
  // Fields of startup frames.
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
  // Fields of FPDUs.
  kMarkerReserved,
  kFpduptr,
  kUlpduLength,
  kPad,
  kCrc,
  kNoHeader,  ///< the ULPDU is too short for a DDP header
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
  std::string_view layer;    ///< layer of the field: "mpa", "marker", "ddp", "rdmap" or "ulp"
  std::string_view name;     ///< the name that the RFC uses
  std::string_view section;  ///< the section that defines the field, for example "RFC 5044 4.1"
  std::string_view why;      ///< the purpose of the field, in one sentence
};

/// Returns the table of all fields; the value of a Field is its index.
std::span<const FieldInfo> all_fields();
const FieldInfo& info(Field field);
/// Returns the field whose value breaks the rule, or nullopt if no single field does.
std::optional<Field> field_of(Rule rule);

/// A range of octets in Frame::octets.
struct OctetRange {
  std::size_t begin = 0;
  std::size_t size = 0;
  constexpr bool operator==(const OctetRange&) const = default;
};

struct FieldAt {
  Field field;
  std::string value;               ///< the value in printable words
  std::vector<OctetRange> octets;  ///< ranges in order; more than one if markers are in between
  /// If the field is smaller than its octets, `bits` is its size in bits and `first_bit` its first
  /// bit, counted from the highest bit of the first octet as in the RFCs. If `bits` is 0, the field
  /// fills its octets.
  unsigned first_bit = 0;
  unsigned bits = 0;
};

/// Returns the fields in the order of the wire, with the markers in their places. Each captured
/// octet is in one field, or in several if the fields are smaller than an octet. Octets that were
/// not captured are in none.
std::vector<FieldAt> fields_of(const Explained& explained);

}  // namespace iwarp::apps::frames
