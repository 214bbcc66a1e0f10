// SPDX-License-Identifier: Apache-2.0
// OobRequest: the private data of the MPA Request for a queue pair that is brought up without the
// CM. It contains the numbers of both queue pairs and both initial PSNs. Programs exchange the PSNs
// along with the numbers, and two queue pairs that work on InfiniBand agree on them. iWARP uses the
// PSNs only to check that a request belongs to this pair.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace iwarp::rdma_core {

struct OobRequest {
  std::uint32_t from = 0;  ///< number of the initiator's queue pair
  std::uint32_t to = 0;
  std::uint32_t sq_psn = 0;  ///< the initiator's sq_psn; 24 bits
  std::uint32_t rq_psn = 0;
};

std::vector<std::byte> encode(const OobRequest& request);
/// Returns nullopt if the data is not such a request.
std::optional<OobRequest> decode_oob_request(const std::vector<std::byte>& data);

}  // namespace iwarp::rdma_core
