// SPDX-License-Identifier: Apache-2.0
// The private data of a Request when a queue pair is brought up without the CM: both numbers and
// both initial PSNs. Programs exchange the PSNs along with the numbers, and iWARP has no other use
// for them; a pair that works on InfiniBand agrees on them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace iwarp::rdma_core {

struct OobRequest {
  std::uint32_t from = 0;  ///< number of the initiator's queue pair
  std::uint32_t to = 0;
  std::uint32_t sq_psn = 0;  ///< the initiator's; 24 bits
  std::uint32_t rq_psn = 0;
};

std::vector<std::byte> encode(const OobRequest& request);
/// Returns nullopt if the data is not such a request.
std::optional<OobRequest> decode_oob_request(const std::vector<std::byte>& data);

}  // namespace iwarp::rdma_core
