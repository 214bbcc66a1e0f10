// SPDX-License-Identifier: Apache-2.0
// The Terminate message (RFC 5040 sections 4.8 and 7.1): why a stream ends, and because of which
// segment. Decides which headers are echoed with which error; Stream decides when to send one.
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

/// Why memory may not be accessed. RDMAP turns it into the error code that fits the message.
enum class AccessError : std::uint8_t {
  kStagInvalid,  ///< no such STag, or it has been invalidated
  kOutOfBounds,  ///< not inside the registered memory
  kNoRight,      ///< the registration does not allow this kind of access
  kOtherStream,  ///< belongs to another protection domain or another stream
  kWraps,        ///< TO + length exceeds 2^64
  kMisaligned,   ///< the target of an Atomic is not on an 8-octet boundary
};

/// Largest Terminate payload: control, length, untagged DDP header, Read Request header.
inline constexpr std::size_t kMaxTerminateSize = 4 + 2 + 18 + 28;

/// The segment that caused the error, as far as its headers are known.
struct TerminatedSegment {
  std::uint16_t segment_length = 0;  ///< ULPDU_Length: DDP header and payload [RDMAP-19]
  std::array<std::byte, 18> ddp_header{};
  std::size_t ddp_header_size = 0;  ///< 14, 18 or 0: none
  std::array<std::byte, 28> rdma_header{};
  std::size_t rdma_header_size = 0;  ///< 28 for a Read Request, else 0 [RDMAP-21]
};

//  0                   1                   2                   3
// | Layer | EType |  Error Code   |M|D|R|     Reserved (13)       |
// |  DDP Segment Length (if M)    |  Terminated DDP header (if D) ...
// |  Terminated RDMA header (if R) ...
/// A Terminate message.
struct Terminate {
  bytes::Fault fault;  ///< decoded: `why` is explain() of the triplet
  std::optional<TerminatedSegment> segment;
};

/// Returns the Terminate for a fault, with those parts of `segment` that RFC 5040 section 4.8
/// (figure 10) requires to be echoed. [RDMAP-17] [RDMAP-92] [RDMAP-93] [RDMAP-94]
Terminate make_terminate(const bytes::Fault& fault,
                         const std::optional<TerminatedSegment>& segment);

/// Writes the payload of a Terminate, at most kMaxTerminateSize octets.
void encode(const Terminate& terminate, bytes::Writer& out);

/// Decodes the payload of a Terminate. Tolerates echoes that are cut off; ignores reserved bits.
/// Returns nullopt if there are fewer than the 4 octets of the control word.
/// Deviation: the kernel's siw, on little-endian hosts, writes layer and type nibbles swapped and
/// M, D, R in the low bits of its octet. A word that cannot be RFC 5040's but fits that layout is
/// read that way.
std::optional<Terminate> decode_terminate(bytes::View payload);

/// The message that a Terminate is about, according to the headers that it echoes. [EXT-61]
struct Subject {
  /// The kind of message.
  enum class Kind : std::uint8_t {
    kUnknown,    ///< no header was echoed, or that of a response or Terminate
    kWrite,      ///< RDMA Write
    kSend,       ///< Send of any kind
    kImmediate,  ///< Immediate Data
    kRequest,    ///< Read or Atomic Request, refused by DDP
    kRead,       ///< Read Request, refused by RDMAP: its RDMA header is echoed
    kAtomic,     ///< Atomic Request, refused by RDMAP
  };
  Kind kind = Kind::kUnknown;
  /// The segment that was echoed.
  struct Segment {
    bool last = false;
    std::uint32_t length = 0;  ///< octets of its payload; some peers send 0
    ddp::Msn msn;              ///< untagged
    ddp::Stag stag;            ///< tagged
    ddp::TaggedOffset to;      ///< tagged
  };
  std::optional<Segment> segment;  ///< nullopt: `kind`, if known, follows from DDP's error type
};
/// Returns the message that a Terminate is about.
Subject subject_of(const Terminate& terminate);

/// Returns the text of the RFCs' tables for a triplet; "unknown error" if they have none.
const char* explain(bytes::Layer layer, std::uint8_t type, std::uint8_t code);

/// Returns every triplet that RFC 5040, 5041, 5044 and 6581 assign. An error type whose codes all
/// mean the same is listed once, with code 0.
std::vector<bytes::Fault> known_faults();

/// Describes a Terminate on one line; works on truncated octets too.
std::string describe_terminate(bytes::View payload);

}  // namespace iwarp::rdmap
