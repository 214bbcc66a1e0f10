// SPDX-License-Identifier: Apache-2.0
// DDP segment headers, tagged and untagged (RFC 5041 sections 4.1 to 4.3).
// The codec judges shape only; versions, STags, queues and offsets are the Receiver's.
#pragma once

#include <string>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/types.hpp"

namespace iwarp::ddp {

inline constexpr std::size_t kTaggedHeaderSize = 14;
inline constexpr std::size_t kUntaggedHeaderSize = 18;

// Tagged                                        Untagged
//  0                   1                   2     0                   1                   2
//  |T|L| Rsvd  | DV |  RsvdULP (8)  | STag...    |T|L| Rsvd  | DV |  RsvdULP (40) ...
//  |              STag (32)         |            |          ... RsvdULP           |
//  |              TO (64)           |            |  QN (32)  |  MSN (32)  |  MO (32)  |
struct SegmentHeader {
  bool tagged = false;                 ///< T [DDP-12]
  bool last = false;                   ///< L [DDP-13]
  std::uint8_t version = kDdpVersion;  ///< DV, the same in every segment [DDP-21]
  std::uint8_t rsvd_ulp = 0;           ///< first octet of RsvdULP, both models
  std::uint32_t rsvd_ulp_rest = 0;     ///< the other four octets, untagged only [DDP-28]
  Stag stag;                           ///< tagged
  TaggedOffset to;                     ///< tagged
  Qn qn = 0;                           ///< untagged
  Msn msn;                             ///< untagged
  std::uint32_t mo = 0;                ///< untagged: octet offset of this payload in the message

  constexpr std::size_t size() const { return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize; }
};

/// Octets of the header that begins so: its first octet tells. 0: there is none.
std::size_t header_size(bytes::View octets);

/// Decodes the header at the start of a ULPDU. False when the ULPDU is too short for it; `out` is
/// then as it was. The reserved bits are not looked at. [DDP-19]
bool decode(bytes::View ulpdu, SegmentHeader& out);
/// The same; Fault 1/0/00 when it is too short: no RFC names a code for that.
bytes::Result<SegmentHeader> decode_segment_header(bytes::View ulpdu);
inline constexpr Fault kHeaderTooShort{Layer::kDdp, 0, 0x00, "ULPDU shorter than its DDP header"};

/// Writes header.size() octets; reserved bits are zero. [DDP-18] [DDP-22] [DDP-27]
void encode(const SegmentHeader& header, bytes::Writer& out);

/// The header in words.
std::string describe_header(const SegmentHeader& header);
/// Header and size of the payload in words; works on truncated octets too.
std::string describe_segment(bytes::View ulpdu);

}  // namespace iwarp::ddp
