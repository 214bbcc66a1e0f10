// SPDX-License-Identifier: Apache-2.0
// Atomic Request and Atomic Response headers (RFC 7306 section 5.2), and what an atomic operation
// makes of a word of memory (section 5.1). Values are in host order; only this codec knows that the
// wire is big endian. [EXT-13] Does not access memory, does not know what STags mean, and does not
// check alignment.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/fault.hpp"
#include "iwarp/ddp/types.hpp"

namespace iwarp::rdmap {

enum class AtomicOpcode : std::uint8_t {  // [EXT-6] [EXT-20]
  kFetchAdd = 0,
  kCmpSwap = 2,
};

inline constexpr std::size_t kAtomicRequestSize = 52;
inline constexpr std::size_t kAtomicResponseSize = 12;
/// Octets of the one kind of word there is, and its alignment.
inline constexpr std::size_t kAtomicWord = 8;

// |              Reserved (28)                            | AOpCode (4) |
// |                     Request Identifier (32)                         |
// |                     Remote STag (32)                                |
// |                     Remote Tagged Offset (64)                       |
// |                     Add or Swap Data (64)                           |
// |                     Add or Swap Mask (64)                           |
// |                     Compare Data (64)                               |
// |                     Compare Mask (64)                               |
struct AtomicRequest {
  AtomicOpcode opcode = AtomicOpcode::kFetchAdd;
  std::uint32_t id = 0;  ///< Request Identifier: comes back in the response
  ddp::Stag stag;
  ddp::TaggedOffset to;
  std::uint64_t add_or_swap = 0;
  /// FetchAdd: the top bit of each field to be added to by itself, 0 for one of 64 bits. CmpSwap:
  /// the bits to be swapped.
  std::uint64_t mask = 0;
  std::uint64_t compare = 0;                       ///< CmpSwap
  std::uint64_t compare_mask = ~std::uint64_t{0};  ///< CmpSwap: the bits that are compared
  constexpr bool operator==(const AtomicRequest&) const = default;
};

// |                 Original Request Identifier (32)                    |
// |                 Original Remote Data Value (64)                     |
struct AtomicResponse {
  std::uint32_t id = 0;
  std::uint64_t original = 0;
  constexpr bool operator==(const AtomicResponse&) const = default;
};

/// Fault 0/2/06: an AOpCode that is neither. 0/2/FF: fewer than 52 octets. [EXT-27]
bytes::Result<AtomicRequest> decode_atomic_request(bytes::View in);
/// A FetchAdd goes out with Compare Data 0 and Compare Mask all ones, whatever `request` says.
/// [EXT-23]
void encode(const AtomicRequest& request, bytes::Writer& out);

/// nullopt: fewer than 12 octets.
std::optional<AtomicResponse> decode_atomic_response(bytes::View in);
void encode(const AtomicResponse& response, bytes::Writer& out);

/// What the word holds after the operation, given what it held before.
std::uint64_t apply(const AtomicRequest& request, std::uint64_t original);

}  // namespace iwarp::rdmap
