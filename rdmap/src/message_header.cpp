// SPDX-License-Identifier: Apache-2.0
// Codec of the Read Request header (RFC 5040 section 4.4).
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::rdmap {

std::optional<ReadRequest> decode_read_request(bytes::View octets) {
  bytes::Reader in(octets);
  ReadRequest r;
  r.sink_stag = Stag{in.u32()};
  r.sink_to = TaggedOffset{in.u64()};
  r.size = in.u32();
  r.source_stag = Stag{in.u32()};
  r.source_to = TaggedOffset{in.u64()};
  if (!in.ok()) return std::nullopt;
  return r;
}

void encode(const ReadRequest& r, bytes::Writer& out) {
  out.u32(r.sink_stag.value);
  out.u64(r.sink_to.value);
  out.u32(r.size);
  out.u32(r.source_stag.value);
  out.u64(r.source_to.value);
}

}  // namespace iwarp::rdmap
