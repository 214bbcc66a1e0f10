// SPDX-License-Identifier: Apache-2.0
// The values of DDP (RFC 5041 section 4). Each value has its own type, so that the compiler rejects
// swapped arguments.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::ddp {

/// Steering Tag: names a buffer that its owner has opened to the peer. The upper 24 bits are an
/// index, the lower 8 bits are the application's key. [VRB-26]
struct Stag {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const Stag&) const = default;
};

/// Tagged Offset: a position in the tagged buffer, either a virtual address or an offset from zero.
/// A message may begin at any TO. [DDP-26]
struct TaggedOffset {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const TaggedOffset&) const = default;
};

/// Message Sequence Number: each direction of each queue counts its messages, modulo 2^32. [DDP-31]
struct Msn {
  std::uint32_t value = 1;  ///< the first message on a queue has MSN 1 [DDP-32]
  constexpr bool operator==(const Msn&) const = default;
  /// Returns the MSN of the next message; 0xFFFFFFFF is followed by 0. [DDP-33]
  constexpr Msn next() const { return Msn{value + 1}; }
};

/// Queue Number, 0 to kQueues - 1. The ULP determines the purpose of each queue.
using Qn = std::uint32_t;
inline constexpr Qn kQueues = 4;

inline constexpr std::uint8_t kDdpVersion = 1;  // [DDP-20]

using bytes::Fault;
using bytes::Layer;

// The DDP rows of the Terminate Control table (RFC 5041 section 7.2). [DDP-83]
inline constexpr Fault kDdpCatastrophic{Layer::kDdp, 0, 0x00, "DDP local catastrophic error"};
inline constexpr Fault kTaggedInvalidStag{Layer::kDdp, 1, 0x00, "invalid STag"};
inline constexpr Fault kTaggedBounds{Layer::kDdp, 1, 0x01, "base or bounds violation"};
inline constexpr Fault kTaggedNotAssociated{Layer::kDdp, 1, 0x02,
                                            "STag not associated with this stream"};
inline constexpr Fault kTaggedWrap{Layer::kDdp, 1, 0x03, "TO wraps"};
inline constexpr Fault kTaggedVersion{Layer::kDdp, 1, 0x04, "invalid DDP version (tagged)"};
inline constexpr Fault kUntaggedQn{Layer::kDdp, 2, 0x01, "invalid queue number"};
inline constexpr Fault kUntaggedNoBuffer{Layer::kDdp, 2, 0x02, "no buffer for this MSN"};
inline constexpr Fault kUntaggedMsnRange{Layer::kDdp, 2, 0x03, "MSN out of range"};
inline constexpr Fault kUntaggedMo{Layer::kDdp, 2, 0x04, "invalid message offset"};
inline constexpr Fault kUntaggedTooLong{Layer::kDdp, 2, 0x05, "message too long for its buffer"};
inline constexpr Fault kUntaggedVersion{Layer::kDdp, 2, 0x06, "invalid DDP version (untagged)"};

}  // namespace iwarp::ddp
