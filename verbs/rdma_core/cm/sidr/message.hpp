// SPDX-License-Identifier: Apache-2.0
// The messages with which a datagram id asks a UDP port of its peer for the number and the Q_Key of
// the queue pair to which the program wants to send. All requests and replies have the same size
// (rfc-notes/datagrams.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/bytes/view.hpp"

namespace iwarp::rdma_core {

inline constexpr std::size_t kSidrSize = 256;
/// The maximum length of private data, which rdma_cm(7) states for RDMA_PS_UDP.
inline constexpr std::size_t kSidrPrivateData = 180;

struct SidrMessage {
  enum class Kind : std::uint8_t { kRequest = 1, kReply = 2 };
  Kind kind = Kind::kRequest;
  bool rejected = false;     ///< set only in replies
  std::uint32_t id = 0;      ///< number of the request, which must be unpredictable
  std::uint32_t qp_num = 0;  ///< set only in replies
  std::uint32_t q_key = 0;   ///< set only in replies
  std::vector<std::byte> private_data;
};

using SidrOctets = std::array<std::byte, kSidrSize>;

/// Encodes a message. Private data that is longer than kSidrPrivateData is truncated.
SidrOctets encode(const SidrMessage& message);
std::optional<SidrMessage> decode_sidr(bytes::View octets);

}  // namespace iwarp::rdma_core
