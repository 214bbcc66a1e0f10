// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the advert. All fields are big endian.
#include "common/connection/advert.hpp"

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::apps {

AdvertOctets encode(const Advert& advert) {
  AdvertOctets octets{};
  bytes::Writer out(octets);
  out.u64(advert.to);
  out.u32(advert.stag.value);
  out.u32(advert.length);
  return octets;
}

std::optional<Advert> decode_advert(bytes::View octets) {
  bytes::Reader in(octets);
  Advert advert;
  advert.to = in.u64();
  advert.stag = verbs::Stag{in.u32()};
  advert.length = in.u32();
  if (!in.ok() || in.remaining() != 0) return std::nullopt;
  return advert;
}

}  // namespace iwarp::apps
