// SPDX-License-Identifier: Apache-2.0
// Immediate data of InfiniBand, 4 octets with a Send or a Write, in the 8 octets of RFC 7306, which
// are a message of their own. First the program's 4 octets, then 4 of ours: what the message stands
// for. Of a Send with payload, which is the core's, they are 0 here. A peer may send any 8 octets.
#pragma once

#include <endian.h>

#include <algorithm>
#include <cstdint>

namespace iwarp::rdma_core {

struct Immediate {
  std::uint32_t imm_data = 0;  ///< in network order, as programs see it
  bool with_send = false;      ///< else behind a Write
  std::uint32_t length = 0;    ///< of the Write; at most 2^31
};

inline constexpr std::uint32_t kImmediateWithSend = 1U << 31;

/// The length that has no other bits: that of the longest Write is the bit of a Send.
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

/// What a program may look at: no more than the peer says, nor than it has `written`.
inline std::uint32_t length_of_write(std::uint64_t immediate, std::uint32_t written) {
  return std::min(decode_immediate(immediate).length, written);
}

}  // namespace iwarp::rdma_core
