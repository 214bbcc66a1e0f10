// SPDX-License-Identifier: Apache-2.0
// RDMAP opcodes, the control octet, and the Read Request header (RFC 5040 sections 4.1 to 4.4, RFC
// 7306 section 4). The opcode table is the only description of the messages: other code looks up
// their properties there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::rdmap {

using ddp::Msn;
using ddp::Qn;
using ddp::Stag;
using ddp::TaggedOffset;

/// RDMA Message opcodes, named as in RFC 5040 section 4.2 and RFC 7306 section 4.
enum class Opcode : std::uint8_t {  // [RDMAP-6]
  kWrite = 0x0,
  kReadRequest = 0x1,
  kReadResponse = 0x2,
  kSend = 0x3,
  kSendInvalidate = 0x4,
  kSendSolicited = 0x5,
  kSendSolicitedInvalidate = 0x6,
  kTerminate = 0x7,
  // The opcodes of RFC 7306 are used only on streams whose ends agreed to it.
  kImmediate = 0x8,
  kImmediateSolicited = 0x9,
  kAtomicRequest = 0xA,
  kAtomicResponse = 0xB,
};

inline constexpr Qn kSendQueue = 0;         // [RDMAP-54]
inline constexpr Qn kReadRequestQueue = 1;  // also for Atomic Requests [RDMAP-33] [EXT-18]
inline constexpr Qn kTerminateQueue = 2;
inline constexpr Qn kAtomicResponseQueue = 3;  // [EXT-19]

/// One row for each kind of message: the DDP model and queue that carry the message, and its
/// properties.
struct OpcodeInfo {
  Opcode opcode{};
  std::string_view name{};  ///< name of the message in the RFC
  bool tagged{};            ///< the message uses tagged segments [RDMAP-5]
  Qn qn{};                  ///< untagged: queue of the message [RDMAP-7]
  bool solicited{};         ///< the message asks for a Solicited Event
  bool invalidates{};       ///< the message carries an Invalidate STag
};

inline constexpr std::array<OpcodeInfo, 12> kOpcodes{{
    {Opcode::kWrite, "RDMA Write", true, 0, false, false},                     // [RDMAP-23]
    {Opcode::kReadRequest, "RDMA Read Request", false, 1, false, false},       // [RDMAP-30]
    {Opcode::kReadResponse, "RDMA Read Response", true, 0, false, false},      // [RDMAP-42]
    {Opcode::kSend, "Send", false, 0, false, false},                           // [RDMAP-48]
    {Opcode::kSendInvalidate, "Send with Invalidate", false, 0, false, true},  // [RDMAP-57]
    {Opcode::kSendSolicited, "Send with Solicited Event", false, 0, true, false},
    {Opcode::kSendSolicitedInvalidate, "Send with Solicited Event and Invalidate", false, 0, true,
     true},
    {Opcode::kTerminate, "Terminate", false, 2, false, false},       // [RDMAP-59]
    {Opcode::kImmediate, "Immediate Data", false, 0, false, false},  // [EXT-3] [EXT-49]
    {Opcode::kImmediateSolicited, "Immediate Data with Solicited Event", false, 0, true, false},
    {Opcode::kAtomicRequest, "Atomic Request", false, 1, false, false},    // [EXT-24] [EXT-28]
    {Opcode::kAtomicResponse, "Atomic Response", false, 3, false, false},  // [EXT-8] [EXT-33]
}};

/// Returns the row of an opcode nibble, or nullptr if no message has this opcode.
constexpr const OpcodeInfo* find_opcode(std::uint8_t nibble) {
  return nibble < kOpcodes.size() ? &kOpcodes[nibble] : nullptr;
}
/// Returns the row of an opcode.
constexpr const OpcodeInfo& info(Opcode opcode) {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}
/// Returns whether RFC 7306 defines the opcode. A stream whose ends did not agree to RFC 7306
/// refuses the opcode.
constexpr bool is_extension(Opcode opcode) { return opcode > Opcode::kTerminate; }
/// Returns the bit that stands for an opcode in a set of opcodes.
constexpr std::uint16_t opcode_bit(Opcode opcode) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(opcode));
}
inline constexpr std::uint16_t kUnassignedOpcodes = 0xF000;  ///< opcodes that no message has
inline constexpr std::uint16_t kExtensionOpcodes =
    opcode_bit(Opcode::kImmediate) | opcode_bit(Opcode::kImmediateSolicited) |
    opcode_bit(Opcode::kAtomicRequest) | opcode_bit(Opcode::kAtomicResponse);
/// Returns whether the opcode belongs to one of the two Immediate Data messages.
constexpr bool is_immediate(Opcode opcode) {
  return opcode == Opcode::kImmediate || opcode == Opcode::kImmediateSolicited;
}

//  0 1 2 3 4 5 6 7
// | RV|Rsv| Opcode|   the first octet of DDP's RsvdULP [RDMAP-2] [RDMAP-3]
inline constexpr std::uint8_t kVersionMask = 0xC0;
inline constexpr std::uint8_t kVersion = 0x40;  // RV = 01b [RDMAP-8]
inline constexpr std::uint8_t kOpcodeMask = 0x0F;

/// Returns the row of kOpcodes for the message that a segment belongs to, or nullptr if no message
/// has the opcode of the segment.
constexpr const OpcodeInfo* find_opcode(const ddp::SegmentHeader& header) {
  return find_opcode(static_cast<std::uint8_t>(header.rsvd_ulp & kOpcodeMask));
}

/// Returns the control octet of a message. Reserved bits are zero. [RDMAP-9]
constexpr std::uint8_t control_octet(Opcode opcode) {
  return static_cast<std::uint8_t>(kVersion | static_cast<std::uint8_t>(opcode));
}

inline constexpr std::size_t kReadRequestSize = 28;
/// Size of every Immediate, in octets. [EXT-52]
inline constexpr std::size_t kImmediateSize = 8;
/// The mark of Send with Immediate: if both ends agreed to use it, an Immediate whose last 4 octets
/// have this value announces a Send. The Immediate contains the immediate data of the next Send,
/// and both messages consume one receive. RFC 7306 leaves all 8 octets to the ULP. See
/// rfc-notes/decisions/0024-send-with-immediate.md.
inline constexpr std::uint32_t kOfNextSend = 0xC0000000;
/// Returns whether an Immediate announces a Send: its last 4 octets are kOfNextSend.
constexpr bool announces_send(std::uint64_t immediate) {
  return static_cast<std::uint32_t>(immediate) == kOfNextSend;
}

/// The STag of an empty RDMA Write that acknowledges messages. If both ends agreed to such
/// acknowledgements, an end sends the Write while a message from the peer on untagged queue 0 waits
/// until a receive is posted. The Write acknowledges all messages before the waiting message. Its
/// TO, held_to(), has the MSN of the waiting message in the last 4 octets. See
/// rfc-notes/decisions/0023-acknowledged-completions.md.
inline constexpr Stag kHeldStag{1};
inline constexpr std::uint64_t kHeldTo = std::uint64_t{0x68656C64} << 32;  // "held" in ASCII
/// Returns the TO of a Write that acknowledges all messages before the message with this MSN.
constexpr TaggedOffset held_to(Msn msn) { return TaggedOffset{kHeldTo | msn.value}; }
/// Returns the MSN in the TO of a Write that acknowledges messages, or nullopt for any other Write.
constexpr std::optional<Msn> held_message(Stag stag, TaggedOffset to) {
  const auto msn = static_cast<std::uint32_t>(to.value);
  if (stag != kHeldStag || to.value != (kHeldTo | msn)) return std::nullopt;
  return Msn{msn};
}

// |                     Data Sink STag (32)                       |
// |                     Data Sink Tagged Offset (64)              |
// |                     RDMA Read Message Size (32)               |
// |                     Data Source STag (32)                     |
// |                     Data Source Tagged Offset (64)            |
/// The header of an RDMA Read Request. It names one source buffer and one sink buffer, and an
/// offset in each. [RDMAP-12] [RDMAP-14] [RDMAP-36] [RDMAP-47]
struct ReadRequest {
  Stag sink_stag{};
  TaggedOffset sink_to{};
  std::uint32_t size = 0;  ///< octets to read
  Stag source_stag{};
  TaggedOffset source_to{};
  constexpr bool operator==(const ReadRequest&) const = default;
};

/// Decodes the header at the start of `in`. Returns nullopt if `in` has fewer than 28 octets.
std::optional<ReadRequest> decode_read_request(bytes::View in);
/// Writes the header.
void encode(const ReadRequest& request, bytes::Writer& out);

}  // namespace iwarp::rdmap
