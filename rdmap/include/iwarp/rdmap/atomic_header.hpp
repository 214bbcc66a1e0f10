// SPDX-License-Identifier: Apache-2.0
// Atomic Request and Atomic Response headers (RFC 7306 section 5.2), and the result of an atomic
// operation on a 64-bit word (section 5.1). Values are in host byte order; only this codec converts
// them to the big-endian order of the wire. [EXT-13] The codec does not access memory and does not
// check alignment.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/fault.hpp"
#include "iwarp/ddp/types.hpp"

namespace iwarp::rdmap {

/// AOpCode, named as in RFC 7306 section 5.2.
enum class AtomicOpcode : std::uint8_t {  // [EXT-6] [EXT-20]
  kFetchAdd = 0,
  kCmpSwap = 2,
};

inline constexpr std::size_t kAtomicRequestSize = 52;
inline constexpr std::size_t kAtomicResponseSize = 12;
/// Size and alignment, in octets, of the word on which an Atomic operates.
inline constexpr std::size_t kAtomicWord = 8;

// |              Reserved (28)                            | AOpCode (4) |
// |                     Request Identifier (32)                         |
// |                     Remote STag (32)                                |
// |                     Remote Tagged Offset (64)                       |
// |                     Add or Swap Data (64)                           |
// |                     Add or Swap Mask (64)                           |
// |                     Compare Data (64)                               |
// |                     Compare Mask (64)                               |
/// The header of an Atomic Request.
struct AtomicRequest {
  AtomicOpcode opcode = AtomicOpcode::kFetchAdd;
  std::uint32_t id = 0;           ///< Request Identifier, which the response repeats
  ddp::Stag stag{};               ///< Remote STag: names memory of the responder
  ddp::TaggedOffset to{};         ///< Remote Tagged Offset: address of the word
  std::uint64_t add_or_swap = 0;  ///< FetchAdd: the value to add; CmpSwap: the new value
  /// FetchAdd: the word consists of fields, and the addition to each field is separate. The mask
  /// has a bit for the top bit of each field; 0 stands for one field of 64 bits. CmpSwap: the bits
  /// to be swapped.
  std::uint64_t mask = 0;
  std::uint64_t compare = 0;                       ///< CmpSwap: the value to compare with
  std::uint64_t compare_mask = ~std::uint64_t{0};  ///< CmpSwap: the bits to be compared
  constexpr bool operator==(const AtomicRequest&) const = default;
};

// |                 Original Request Identifier (32)                    |
// |                 Original Remote Data Value (64)                     |
/// The header of an Atomic Response.
struct AtomicResponse {
  std::uint32_t id = 0;        ///< Original Request Identifier
  std::uint64_t original = 0;  ///< value of the word before the operation
  constexpr bool operator==(const AtomicResponse&) const = default;
};

/// Decodes the header at the start of `in`. Fails with the fault 0/2/06 (layer/type/code) if
/// AOpCode is neither FetchAdd nor CmpSwap, and with 0/2/FF if `in` has fewer than 52 octets.
/// [EXT-27]
bytes::Result<AtomicRequest> decode_atomic_request(bytes::View in);
/// Writes the header. For a FetchAdd, Compare Data is 0 and Compare Mask all ones, whatever
/// `request` holds. [EXT-23]
void encode(const AtomicRequest& request, bytes::Writer& out);

/// Decodes the header at the start of `in`. Returns nullopt if `in` has fewer than 12 octets.
std::optional<AtomicResponse> decode_atomic_response(bytes::View in);
/// Writes the header.
void encode(const AtomicResponse& response, bytes::Writer& out);

/// Returns the value of the word after the operation, given its value before the operation.
std::uint64_t apply(const AtomicRequest& request, std::uint64_t original);

}  // namespace iwarp::rdmap
