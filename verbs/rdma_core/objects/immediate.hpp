// SPDX-License-Identifier: Apache-2.0
// Immediate data of InfiniBand is 4 octets with a Send or a Write. RFC 7306 has 8 octets, which are
// a message of their own. Here they are the program's 4 octets, then 4 octets that say which
// request they belong to: a Send, or a Write and its length. The latter 4 are 0 in a Send with
// payload, which the core implements. A peer may send any 8 octets.
#pragma once

#include <endian.h>

#include <algorithm>
#include <cstdint>

namespace iwarp::rdma_core {

struct Immediate {
  std::uint32_t imm_data = 0;  ///< in network order, as programs see it
  bool with_send = false;      ///< belongs to a Send; else it follows a Write
  std::uint32_t length = 0;    ///< of the Write; at most 2^31
};

inline constexpr std::uint32_t kImmediateWithSend = 1U << 31;

/// The length of the longest Write has the same bit as kImmediateWithSend, so that it needs an
/// encoding of its own.
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

/// Returns the length of the Write for the program: the one that the peer states, but no more than
/// it has `written`.
inline std::uint32_t length_of_write(std::uint64_t immediate, std::uint32_t written) {
  return std::min(decode_immediate(immediate).length, written);
}

}  // namespace iwarp::rdma_core
