// SPDX-License-Identifier: Apache-2.0
// The Terminate message (RFC 5040 sections 4.8 and 7.1): why a stream ends, and of which segment.
// Which headers go back with which error is decided here, from the table; when to send one is the
// Stream's business.
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
struct Terminate {
  bytes::Fault fault;  ///< `why` of a decoded one is the table's text for the triplet
  std::optional<TerminatedSegment> segment;
};

/// What goes back for this fault: drops the parts of `segment` the error mapping of RFC 5040
/// section 4.8 (figure 10) leaves out. [RDMAP-17] [RDMAP-92] [RDMAP-93] [RDMAP-94]
Terminate make_terminate(const bytes::Fault& fault,
                         const std::optional<TerminatedSegment>& segment);

void encode(const Terminate& terminate, bytes::Writer& out);

/// Decodes the payload of a Terminate; tolerates cut-off echoes, and reserved bits are ignored.
/// nullopt: not even the control word is there.
/// Deviation: the kernel's siw, on little-endian hosts, writes layer and type nibbles swapped and
/// M, D, R in the low bits of its octet. A word that cannot be RFC 5040's but fits that layout is
/// read that way.
std::optional<Terminate> decode_terminate(bytes::View payload);

/// The message that a Terminate is about, as its echo tells. [EXT-61]
struct Subject {
  enum class Kind : std::uint8_t {
    kUnknown,  ///< nothing came back, or what nobody asks about
    kWrite,
    kSend,  ///< of any kind
    kImmediate,
    kRequest,  ///< of a Read or an atomic, and DDP's error
    kRead,     ///< its Request: RDMAP sends the RDMA header back
    kAtomic,   ///< its Request: DDP's header alone, and RDMAP's error
  };
  Kind kind = Kind::kUnknown;
  /// Which of them. Without it DDP's error has told the kind: tagged or untagged.
  struct Segment {
    bool last = false;
    std::uint32_t length = 0;  ///< of its payload; peers may not say
    ddp::Msn msn;              ///< untagged
    ddp::Stag stag;            ///< tagged
    ddp::TaggedOffset to;      ///< tagged
  };
  std::optional<Segment> segment;
};
Subject subject_of(const Terminate& terminate);

/// The explanation the tables give for a triplet; "unknown error" when they have none.
const char* explain(bytes::Layer layer, std::uint8_t type, std::uint8_t code);

/// Every triplet that RFC 5040, 5041, 5044 and 6581 assign. An error type whose codes all mean the
/// same is there once, with code 0.
std::vector<bytes::Fault> known_faults();

/// One line for people; works on truncated octets too.
std::string describe_terminate(bytes::View payload);

}  // namespace iwarp::rdmap
