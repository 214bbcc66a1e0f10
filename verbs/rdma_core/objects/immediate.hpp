// SPDX-License-Identifier: Apache-2.0
// Encodes the 4 octets of immediate data that a program passes with a Send or a Write. RFC 7306
// transports immediate data as a separate message of 8 octets. The first 4 of the 8 octets are the
// program's immediate data. The last 4 octets identify the request to which the immediate data
// belongs: they are kImmediateWithSend for a Send without payload, and the length of the Write for
// a Write. This project's core also supports a Send with both payload and immediate data, for which
// the last 4 octets are 0. Other implementations of RFC 7306 may send any 8 octets.
#pragma once

#include <endian.h>

#include <algorithm>
#include <cstdint>

namespace iwarp::rdma_core {

struct Immediate {
  std::uint32_t imm_data = 0;  ///< the program's immediate data, in network byte order
  /// True if the immediate data belongs to a Send, and false if it belongs to a Write.
  bool with_send = false;
  std::uint32_t length = 0;  ///< length of the Write in octets; at most 2^31
};

inline constexpr std::uint32_t kImmediateWithSend = 1U << 31;

/// The length of the longest Write has the same value as kImmediateWithSend. On the wire,
/// kImmediateOfLongestWrite therefore replaces that length.
inline constexpr std::uint32_t kLongestWrite = 1U << 31;
inline constexpr std::uint32_t kImmediateOfLongestWrite = kImmediateWithSend | 1;

inline std::uint64_t encode(const Immediate& immediate) {
  std::uint32_t kind = immediate.with_send ? kImmediateWithSend : immediate.length;
  if (!immediate.with_send && kind == kLongestWrite) kind = kImmediateOfLongestWrite;
  return std::uint64_t{be32toh(immediate.imm_data)} << 32 | kind;
}

inline std::uint64_t encode_of_send(std::uint32_t imm_data) {
  return std::uint64_t{be32toh(imm_data)} << 32;
}

inline Immediate decode_immediate(std::uint64_t octets) {
  const auto kind = static_cast<std::uint32_t>(octets);
  const auto imm_data = htobe32(static_cast<std::uint32_t>(octets >> 32));
  if (kind == kImmediateOfLongestWrite) return {.imm_data = imm_data, .length = kLongestWrite};
  const bool with_send = (kind & kImmediateWithSend) != 0;
  return {.imm_data = imm_data, .with_send = with_send, .length = with_send ? 0 : kind};
}

/// Returns the length of the Write for ibv_wc::byte_len. This is the length that the immediate data
/// contains, but at most `written`, the number of octets that the peer has written.
inline std::uint32_t length_of_write(std::uint64_t immediate, std::uint32_t written) {
  return std::min(decode_immediate(immediate).length, written);
}

}  // namespace iwarp::rdma_core
