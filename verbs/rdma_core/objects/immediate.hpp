// SPDX-License-Identifier: Apache-2.0
// In InfiniBand, immediate data is 4 octets that belong to a Send or a Write. In RFC 7306 it is 8
// octets, which are a separate message. The first 4 of these octets are the program's. The other 4
// say to which request they belong: to a Send, or to a Write and with which length. In a Send with
// payload and immediate data, which the core implements, they are 0. Other implementations may send
// any 8 octets.
#pragma once

#include <endian.h>

#include <algorithm>
#include <cstdint>

namespace iwarp::rdma_core {

struct Immediate {
  std::uint32_t imm_data = 0;  ///< in network order, as programs see it
  bool with_send = false;      ///< whether the data belongs to a Send; otherwise it follows a Write
  std::uint32_t length = 0;    ///< length of the Write; at most 2^31
};

inline constexpr std::uint32_t kImmediateWithSend = 1U << 31;

/// The length of the longest Write has the same value as kImmediateWithSend, so
/// kImmediateOfLongestWrite stands for it on the wire.
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

/// Returns the length of the Write that the program sees in the completion. It is the length in the
/// immediate data, but not more than the number of octets that the peer has `written`.
inline std::uint32_t length_of_write(std::uint64_t immediate, std::uint32_t written) {
  return std::min(decode_immediate(immediate).length, written);
}

}  // namespace iwarp::rdma_core
