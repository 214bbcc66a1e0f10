// SPDX-License-Identifier: Apache-2.0
// The sizes of an rsocket: its rings and inline data in bytes, and its queues in requests.
#pragma once

#include <cstdint>

namespace iwarp::rdma_core::rsockets {

struct Sizes {
  std::uint32_t send_ring = 1U << 17;
  std::uint32_t receive_ring = 1U << 17;
  std::uint16_t send_requests = 384;
  std::uint16_t receives = 384;
  std::uint16_t inline_octets = 64;
  std::uint32_t mappings = 0;  ///< number of mappings that the peer may make
};

}  // namespace iwarp::rdma_core::rsockets
