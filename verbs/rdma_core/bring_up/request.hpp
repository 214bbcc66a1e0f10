// SPDX-License-Identifier: Apache-2.0
// OobRequest: the private data of the MPA Request for a queue pair that is connected without the
// CM. It contains the numbers and the initial PSNs of both queue pairs. Programs exchange the PSNs
// along with the numbers, and must set them correctly for InfiniBand. iWARP itself needs no PSNs.
// OutOfBand uses them only to check that a request belongs to this pair of queue pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::rdma_core {

inline constexpr std::array<std::byte, 8> kOobMark{std::byte{'i'}, std::byte{'w'}, std::byte{'a'},
                                                   std::byte{'r'}, std::byte{'p'}, std::byte{'o'},
                                                   std::byte{'o'}, std::byte{'b'}};
inline constexpr std::size_t kOobRequestSize = kOobMark.size() + 4 * sizeof(std::uint32_t);

struct OobRequest {
  std::uint32_t from = 0;  ///< number of the initiator's queue pair
  std::uint32_t to = 0;
  std::uint32_t sq_psn = 0;  ///< the initiator's sq_psn, which has 24 bits
  std::uint32_t rq_psn = 0;
};

inline std::vector<std::byte> encode(const OobRequest& request) {
  std::vector<std::byte> out(kOobRequestSize);
  bytes::Writer writer(out);
  writer.put(kOobMark);
  for (const auto word : {request.from, request.to, request.sq_psn, request.rq_psn}) {
    writer.u32(word);
  }
  return out;
}

/// Returns the request that `data` contains, or nullopt if `data` is not an OobRequest.
inline std::optional<OobRequest> decode_oob_request(const std::vector<std::byte>& data) {
  if (data.size() != kOobRequestSize ||
      !std::ranges::equal(kOobMark, std::span(data).first(kOobMark.size()))) {
    return std::nullopt;
  }
  bytes::Reader reader(bytes::View(data).subspan(kOobMark.size()));
  OobRequest out;
  for (auto* const word : {&out.from, &out.to, &out.sq_psn, &out.rq_psn}) *word = reader.u32();
  return out;
}

}  // namespace iwarp::rdma_core
