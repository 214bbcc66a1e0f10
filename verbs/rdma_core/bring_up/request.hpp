// SPDX-License-Identifier: Apache-2.0
// OobRequest: the private data of the MPA Request for a queue pair that is connected without the
// CM. It contains the numbers and the initial PSNs of both queue pairs. Programs exchange the PSNs
// along with the numbers, and must set them correctly for InfiniBand. iWARP itself needs no PSNs.
// OutOfBand uses them only to check that a request belongs to this pair of queue pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace iwarp::rdma_core {

struct OobRequest {
  std::uint32_t from = 0;  ///< number of the initiator's queue pair
  std::uint32_t to = 0;
  std::uint32_t sq_psn = 0;  ///< the initiator's sq_psn, which has 24 bits
  std::uint32_t rq_psn = 0;
};

std::vector<std::byte> encode(const OobRequest& request);
/// Returns the request that `data` contains, or nullopt if `data` is not an OobRequest.
std::optional<OobRequest> decode_oob_request(const std::vector<std::byte>& data);

}  // namespace iwarp::rdma_core
