// SPDX-License-Identifier: Apache-2.0
// What a Request says in its private data when a queue pair is brought up without the CM: both
// numbers, and both first PSNs. Programs tell each other the PSNs together with the numbers, and
// iWARP has no other use for them; a pair that works on InfiniBand agrees on them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace iwarp::rdma_core {

struct OobRequest {
  std::uint32_t from = 0;  ///< number of the queue pair that connects
  std::uint32_t to = 0;
  std::uint32_t sq_psn = 0;  ///< of the one that connects; 24 bits
  std::uint32_t rq_psn = 0;
};

std::vector<std::byte> encode(const OobRequest& request);
/// nullopt: the data are no such request.
std::optional<OobRequest> decode_oob_request(const std::vector<std::byte>& data);

}  // namespace iwarp::rdma_core
