// SPDX-License-Identifier: Apache-2.0
#include "bring_up/request.hpp"

#include <algorithm>
#include <array>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::array<std::byte, 8> kMark{std::byte{'i'}, std::byte{'w'}, std::byte{'a'},
                                         std::byte{'r'}, std::byte{'p'}, std::byte{'o'},
                                         std::byte{'o'}, std::byte{'b'}};
constexpr std::size_t kSize = kMark.size() + 4 * sizeof(std::uint32_t);

}  // namespace

std::vector<std::byte> encode(const OobRequest& request) {
  std::vector<std::byte> out(kSize);
  bytes::Writer writer(out);
  writer.put(kMark);
  for (const auto word : {request.from, request.to, request.sq_psn, request.rq_psn}) {
    writer.u32(word);
  }
  return out;
}

std::optional<OobRequest> decode_oob_request(const std::vector<std::byte>& data) {
  if (data.size() != kSize || !std::ranges::equal(kMark, std::span(data).first(kMark.size()))) {
    return std::nullopt;
  }
  bytes::Reader reader(bytes::View(data).subspan(kMark.size()));
  OobRequest out;
  for (auto* const word : {&out.from, &out.to, &out.sq_psn, &out.rq_psn}) *word = reader.u32();
  return out;
}

}  // namespace iwarp::rdma_core
