// SPDX-License-Identifier: Apache-2.0
// The Terminate message (RFC 5040 sections 4.8 and 7.1): it says why a stream ends, and which
// segment caused the end. This code decides which headers a Terminate echoes for which error;
// Stream decides when to send a Terminate.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/fault.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/types.hpp"

namespace iwarp::rdmap {

/// The reason for which an access to memory is refused. RDMAP converts the reason to the error code
/// that fits the message.
enum class AccessError : std::uint8_t {
  kStagInvalid,  ///< no such STag, or it has been invalidated
  kOutOfBounds,  ///< the range is not inside the registered memory
  kNoRight,      ///< the registration does not allow this kind of access
  kOtherStream,  ///< the STag belongs to another protection domain or another stream
  kWraps,        ///< TO + length exceeds 2^64
  kMisaligned,   ///< the target of an Atomic is not on an 8-octet boundary
  kNotEnabled,   ///< the receiving end does not accept this kind of operation on the stream
};

/// The largest Terminate payload has the control word, the length, an untagged DDP header and a
/// Read Request header.
inline constexpr std::size_t kMaxTerminateSize = 4 + 2 + 18 + 28;

/// What is known of the segment that caused the error.
struct TerminatedSegment {
  std::uint16_t segment_length = 0;  ///< ULPDU_Length: DDP header and payload [RDMAP-19]
  std::array<std::byte, 18> ddp_header{};
  std::size_t ddp_header_size = 0;  ///< 14 or 18, or 0 if no header is known
  std::array<std::byte, 28> rdma_header{};
  std::size_t rdma_header_size = 0;  ///< 28 for a Read Request, otherwise 0 [RDMAP-21]
};

//  0                   1                   2                   3
// | Layer | EType |  Error Code   |M|D|R|     Reserved (13)       |
// |  DDP Segment Length (if M)    |  Terminated DDP header (if D) ...
// |  Terminated RDMA header (if R) ...
/// A Terminate message.
struct Terminate {
  bytes::Fault fault{};  ///< in a decoded Terminate, explain() provides `why`
  std::optional<TerminatedSegment> segment{};
};

/// Returns the Terminate for a fault, with those parts of `segment` that RFC 5040 section 4.8
/// (figure 10) requires to be echoed. [RDMAP-17] [RDMAP-92] [RDMAP-93] [RDMAP-94]
Terminate make_terminate(const bytes::Fault& fault,
                         const std::optional<TerminatedSegment>& segment);

/// Writes the payload of a Terminate, at most kMaxTerminateSize octets.
void encode(const Terminate& terminate, bytes::Writer& out);

/// Decodes the payload of a Terminate. Tolerates echoed headers that are cut off, and ignores
/// reserved bits. Returns nullopt if `payload` has fewer than the 4 octets of the control word.
/// Deviation: the kernel's siw, on little-endian hosts, writes the layer and type nibbles swapped
/// and M, D, R in the low bits of their octet. A control word that is invalid by RFC 5040 but valid
/// in siw's layout is decoded as siw's.
std::optional<Terminate> decode_terminate(bytes::View payload);

/// The message that caused a Terminate, according to the headers that the Terminate echoes.
/// [EXT-61]
struct Subject {
  /// The kind of message.
  enum class Kind : std::uint8_t {
    kUnknown,    ///< no header, or the header of a response or Terminate, was echoed
    kWrite,      ///< an RDMA Write
    kSend,       ///< a Send of any kind
    kImmediate,  ///< Immediate Data
    kRequest,    ///< a Read or Atomic Request that DDP refused
    kRead,       ///< a Read Request that RDMAP refused: its RDMA header is echoed
    kAtomic,     ///< an Atomic Request that RDMAP refused
  };
  Kind kind = Kind::kUnknown;
  /// The segment whose headers were echoed.
  struct Segment {
    bool last = false;
    std::uint32_t length = 0;  ///< payload octets of the segment; some peers send 0
    ddp::Msn msn{};            ///< untagged: MSN of the message
    ddp::Stag stag{};          ///< tagged: STag of the buffer
    ddp::TaggedOffset to{};    ///< tagged: TO of the segment
  };
  /// If nullopt, `kind` is kUnknown or was derived from DDP's error type.
  std::optional<Segment> segment{};
};
/// Returns the message that caused a Terminate.
Subject subject_of(const Terminate& terminate);

/// Returns the meaning of a triplet by the tables of the RFCs, or "unknown error" if the tables do
/// not have it.
const char* explain(bytes::Layer layer, std::uint8_t type, std::uint8_t code);

/// Returns every triplet that RFC 5040, 5041, 5044 and 6581 assign. If all codes of an error type
/// have the same meaning, the type is listed once, with code 0.
std::vector<bytes::Fault> known_faults();

/// Describes a Terminate on one line; also works if the Terminate is truncated.
std::string describe_terminate(bytes::View payload);

}  // namespace iwarp::rdmap
