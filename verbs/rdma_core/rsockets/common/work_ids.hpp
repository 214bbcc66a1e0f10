// SPDX-License-Identifier: Apache-2.0
// Functions that Endpoint and DatagramEndpoint share: they encode the wr_id of work requests, and
// take events from a completion channel.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core::rsockets {

// The upper half of a wr_id is the kind of request. The lower half depends on the kind: for a
// receive, or for a datagram that is sent, it is the number of the buffer's slot. For a send of a
// stream, it is the number of bytes of the send ring that the request uses.
inline constexpr std::uint64_t kReceive = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kControlRequest = std::uint64_t{2} << 32;
inline constexpr std::uint64_t kRingRequest = std::uint64_t{3} << 32;
inline constexpr std::uint64_t kWhose = ~std::uint64_t{UINT32_MAX};

constexpr std::uint64_t request_of_ring(std::uint32_t length) { return kRingRequest | length; }
constexpr std::uint64_t without_octets(std::uint64_t wr_id) { return wr_id & kWhose; }
constexpr std::uint32_t octets_of(std::uint64_t wr_id) { return static_cast<std::uint32_t>(wr_id); }

inline std::uint32_t big_endian(std::uint32_t word) { return htonl(word); }
/// Consumes all events of a non-blocking channel. Returns whether there were any.
inline bool take_all_events(ibv_comp_channel& channel) {
  bool taken = false;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(&channel, &cq, &context) == 0) {
    ibv_ack_cq_events(cq, 1);
    taken = true;
  }
  return taken;
}
inline std::uint64_t address_of(const std::byte* at) { return reinterpret_cast<std::uint64_t>(at); }

}  // namespace iwarp::rdma_core::rsockets
