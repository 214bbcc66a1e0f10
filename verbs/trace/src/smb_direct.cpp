// SPDX-License-Identifier: Apache-2.0
// Recognises the depths by their size and range: first in big-endian order, and in little-endian
// order if those values are too large.
#include "iwarp/trace/smb_direct.hpp"

#include <fmt/format.h>

#include <bit>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::trace {

std::optional<SmbDirectDepths> smb_direct_depths(const mpa::StartupFrame& frame) {
  if (frame.enhanced || frame.private_data.size() != kSmbDirectDepthsSize) return std::nullopt;
  const auto ird = bytes::load_be<std::uint32_t>(frame.private_data.data());
  const auto ord = bytes::load_be<std::uint32_t>(frame.private_data.data() + sizeof(ird));
  if (ird == 0 && ord == 0) return std::nullopt;
  for (const bool little : {false, true}) {
    const SmbDirectDepths depths{.ird = little ? std::byteswap(ird) : ird,
                                 .ord = little ? std::byteswap(ord) : ord,
                                 .little_endian = little};
    if (depths.ird <= mpa::kNoNegotiation && depths.ord <= mpa::kNoNegotiation) return depths;
  }
  return std::nullopt;
}

std::string describe(const SmbDirectDepths& depths) {
  return fmt::format("IRD {}, ORD {} in the encoding of SMB Direct{}", depths.ird, depths.ord,
                     depths.little_endian ? ", but in little-endian order" : "");
}

}  // namespace iwarp::trace
