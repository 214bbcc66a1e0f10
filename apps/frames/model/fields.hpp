// SPDX-License-Identifier: Apache-2.0
// Splits a frame into its fields, each with its octets on the wire. The fields are those of startup
// frames (RFC 5044 section 7.1.1, RFC 6581 section 9), of FPDUs with their markers, of DDP and
// RDMAP headers (RFC 5041 section 4, RFC 5040 section 4, RFC 7306), the payload, PAD and CRC.
// Displays of octets use this code. This code does not check the rules; Session does.
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
  kNoHeader,  ///< all octets of a ULPDU that is too short for a DDP header
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
  std::string_view layer;    ///< the field's layer: "mpa", "marker", "ddp", "rdmap" or "ulp"
  std::string_view name;     ///< the name of the field in the RFC
  std::string_view section;  ///< the section that defines the field, for example "RFC 5044 4.1"
  std::string_view why;      ///< the purpose of the field, in one sentence
};

/// Returns the table of all fields. The value of a Field is the index of its row.
std::span<const FieldInfo> all_fields();
const FieldInfo& info(Field field);
/// Returns the field whose value violates the rule. Returns nullopt if there is no such single
/// field.
std::optional<Field> field_of(Rule rule);

/// A range of octets in Frame::octets.
struct OctetRange {
  std::size_t begin = 0;
  std::size_t size = 0;
  constexpr bool operator==(const OctetRange&) const = default;
};

struct FieldAt {
  Field field;
  std::string value;               ///< the value as printable text
  std::vector<OctetRange> octets;  ///< ranges of the field in order; several if markers split it
  /// For a field that does not fill its octets, `bits` is its size in bits, and `first_bit` is its
  /// first bit. As in the RFCs, bits are counted from the most significant bit of the first octet.
  /// `bits` is 0 if the field fills its octets.
  unsigned first_bit = 0;
  unsigned bits = 0;
};

/// Returns the fields in the order of the wire, including markers. Each captured octet is in one
/// field, or in several if these fields are smaller than an octet. Octets that were not captured
/// are in no field.
std::vector<FieldAt> fields_of(const Explained& explained);

}  // namespace iwarp::apps::frames
