// SPDX-License-Identifier: Apache-2.0
// What ids of datagrams ask each other before they send: who listens on this port, and with which
// queue pair? Requests and replies have the same size, whatever they carry
// (rfc-notes/datagrams.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/bytes/view.hpp"

namespace iwarp::rdma_core {

inline constexpr std::size_t kSidrSize = 256;
/// As much as rdma_cm(7) has for RDMA_PS_UDP.
inline constexpr std::size_t kSidrPrivateData = 180;

struct SidrMessage {
  enum class Kind : std::uint8_t { kRequest = 1, kReply = 2 };
  Kind kind = Kind::kRequest;
  bool rejected = false;     ///< replies
  std::uint32_t id = 0;      ///< of the request, unpredictable
  std::uint32_t qp_num = 0;  ///< replies
  std::uint32_t q_key = 0;   ///< replies
  std::vector<std::byte> private_data;
};

using SidrOctets = std::array<std::byte, kSidrSize>;

/// Private data that is too long is cut.
SidrOctets encode(const SidrMessage& message);
std::optional<SidrMessage> decode_sidr(bytes::View octets);

}  // namespace iwarp::rdma_core
