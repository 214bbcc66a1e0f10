// SPDX-License-Identifier: Apache-2.0
// DDP segment headers, tagged and untagged (RFC 5041 sections 4.1 to 4.3). The codec checks only
// the length; the Receiver checks versions, STags, queues and offsets.
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
/// The header of one segment, in host byte order.
struct SegmentHeader {
  bool tagged = false;                 ///< T: the payload goes to a tagged buffer [DDP-12]
  bool last = false;                   ///< L: last segment of its message [DDP-13]
  std::uint8_t version = kDdpVersion;  ///< DV: every segment has the same version [DDP-21]
  std::uint8_t rsvd_ulp = 0;           ///< first octet of RsvdULP, tagged and untagged
  std::uint32_t rsvd_ulp_rest = 0;     ///< last four octets of RsvdULP, untagged only [DDP-28]
  Stag stag{};                         ///< tagged: STag of the buffer
  TaggedOffset to{};                   ///< tagged: TO of this payload
  Qn qn = 0;                           ///< untagged: QN, the queue of the message
  Msn msn{};                           ///< untagged: MSN of the message
  std::uint32_t mo = 0;                ///< untagged: MO, the offset of this payload in the message

  /// Returns the size of the header on the wire in octets.
  constexpr std::size_t size() const { return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize; }
};

/// Returns the size of the header whose first octet is at the start of `octets`; 0 if `octets` is
/// empty.
std::size_t header_size(bytes::View octets);

/// Decodes the header at the start of a ULPDU. Returns false, and leaves `out` unchanged, if the
/// ULPDU is shorter than its header. Ignores the reserved bits. [DDP-19]
bool decode(bytes::View ulpdu, SegmentHeader& out);
/// Decodes the header at the start of a ULPDU and returns it. Fails with the fault kHeaderTooShort
/// if the ULPDU is shorter than its header. No RFC assigns a code to this fault, so it has the code
/// of a DDP local catastrophic error: layer 1, type 0, code 00.
bytes::Result<SegmentHeader> decode_segment_header(bytes::View ulpdu);
inline constexpr Fault kHeaderTooShort{Layer::kDdp, 0, 0x00, "ULPDU shorter than its DDP header"};

/// Writes header.size() octets to `at`, and returns their number. Reserved bits are zero. [DDP-18]
/// [DDP-22] [DDP-27]
std::size_t encode(const SegmentHeader& header, std::byte* at);
/// Writes the header to `out`. If `out` has no room for the header, writes nothing and makes
/// out.ok() return false.
void encode(const SegmentHeader& header, bytes::Writer& out);

/// Describes a header on one line.
std::string describe_header(const SegmentHeader& header);
/// Describes a segment on one line: its header and the size of its payload. Also works if the
/// segment is truncated.
std::string describe_segment(bytes::View ulpdu);

// header_size(), decode() and encode() are inline, because the stack calls them several times for
// each message.

namespace wire {
inline constexpr std::uint8_t kTaggedFlag = 0x80;
inline constexpr std::uint8_t kLastFlag = 0x40;
inline constexpr std::uint8_t kVersionMask = 0x03;

// Offsets of the fields in the header, in octets. The field at kRsvdUlp is in both kinds of header.
inline constexpr std::size_t kRsvdUlp = 1;
inline constexpr std::size_t kStag = 2;
inline constexpr std::size_t kTo = 6;
inline constexpr std::size_t kRsvdUlpRest = 2;
inline constexpr std::size_t kQn = 6;
inline constexpr std::size_t kMsn = 10;
inline constexpr std::size_t kMo = 14;
}  // namespace wire

inline std::size_t header_size(bytes::View octets) {
  if (octets.empty()) return 0;
  const bool tagged = (std::to_integer<std::uint8_t>(octets[0]) & wire::kTaggedFlag) != 0;
  return tagged ? kTaggedHeaderSize : kUntaggedHeaderSize;
}

inline bool decode(bytes::View ulpdu, SegmentHeader& h) {
  if (ulpdu.empty() || ulpdu.size() < header_size(ulpdu)) return false;
  const std::byte* const at = ulpdu.data();
  const auto control = std::to_integer<std::uint8_t>(at[0]);
  const bool tagged = (control & wire::kTaggedFlag) != 0;
  h.tagged = tagged;
  h.last = (control & wire::kLastFlag) != 0;
  h.version = control & wire::kVersionMask;  // The reserved bits 0x3C are skipped. [DDP-19]
  h.rsvd_ulp = std::to_integer<std::uint8_t>(at[wire::kRsvdUlp]);
  h.rsvd_ulp_rest = tagged ? 0 : bytes::load_be<std::uint32_t>(at + wire::kRsvdUlpRest);
  h.stag = Stag{tagged ? bytes::load_be<std::uint32_t>(at + wire::kStag) : 0};
  h.to = TaggedOffset{tagged ? bytes::load_be<std::uint64_t>(at + wire::kTo) : 0};
  h.qn = tagged ? 0 : bytes::load_be<std::uint32_t>(at + wire::kQn);
  h.msn = tagged ? Msn{} : Msn{bytes::load_be<std::uint32_t>(at + wire::kMsn)};
  h.mo = tagged ? 0 : bytes::load_be<std::uint32_t>(at + wire::kMo);
  return true;
}

inline std::size_t encode(const SegmentHeader& h, std::byte* at) {
  // Every segment carries a header; the four reserved bits are zero. [DDP-18] [DDP-20] [DDP-36]
  at[0] = static_cast<std::byte>((h.tagged ? wire::kTaggedFlag : 0) |
                                 (h.last ? wire::kLastFlag : 0) | (h.version & wire::kVersionMask));
  at[wire::kRsvdUlp] = static_cast<std::byte>(h.rsvd_ulp);
  if (h.tagged) {
    bytes::store_be(at + wire::kStag, h.stag.value);
    bytes::store_be(at + wire::kTo, h.to.value);
    return kTaggedHeaderSize;
  }
  bytes::store_be(at + wire::kRsvdUlpRest, h.rsvd_ulp_rest);
  bytes::store_be(at + wire::kQn, h.qn);
  bytes::store_be(at + wire::kMsn, h.msn.value);
  bytes::store_be(at + wire::kMo, h.mo);
  return kUntaggedHeaderSize;
}

inline void encode(const SegmentHeader& h, bytes::Writer& out) {
  const auto octets = out.take(h.size());
  if (!octets.empty()) encode(h, octets.data());
}

}  // namespace iwarp::ddp
