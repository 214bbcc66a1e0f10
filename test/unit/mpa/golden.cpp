// SPDX-License-Identifier: Apache-2.0
// Defines the golden frames; golden.hpp names their sources. Long payloads are generated. The
// octets around them are written out.
#include "golden.hpp"

namespace iwarp::test {
namespace {

/// Makes an untagged Send (DDP and RDMAP header) with MSN `msn` and `payload` octets of `value`.
Octets send_ulpdu(std::uint8_t msn, std::size_t payload, std::byte value) {
  Octets ulpdu = hex("4143 00000000 00000000 00000000 00000000");
  ulpdu[13] = static_cast<std::byte>(msn);
  ulpdu.insert(ulpdu.end(), payload, value);
  return ulpdu;
}

/// Makes a first FPDU with `payload` octets of 0x5A that ends near position 512. Its stream has
/// `total` octets, starts with `front` and ends with `tail`. All octets in between are payload.
Golden near_512(std::size_t payload, std::size_t total, std::string_view front,
                std::string_view tail) {
  Golden golden;
  golden.name = std::to_string(payload) + " payload octets of a first FPDU";
  golden.ulpdus = {send_ulpdu(1, payload, std::byte{0x5A})};
  golden.stream = hex(front);
  const Octets end = hex(tail);
  golden.stream.resize(total - end.size(), std::byte{0x5A});
  golden.stream.insert(golden.stream.end(), end.begin(), end.end());
  return golden;
}

/// An RDMA Write of 1410 octets with the values 0, 1, 2 and so on, modulo 256. Its markers are at
/// positions 0, 512 and 1024.
Golden three_markers() {
  Golden golden;
  golden.name = "a first FPDU of 1444 octets";
  Octets ulpdu = hex("c140 11223344 00000000 00000000");
  for (int i = 0; i < 1410; ++i) ulpdu.push_back(static_cast<std::byte>(i & 0xFF));
  golden.ulpdus = {ulpdu};
  golden.stream = hex("00000000 0590");
  const auto append = [&golden](View octets) {
    golden.stream.insert(golden.stream.end(), octets.begin(), octets.end());
  };
  append(View(ulpdu).first(506));
  append(hex("000001fc"));
  append(View(ulpdu).subspan(506, 508));
  append(hex("000003fc"));
  append(View(ulpdu).subspan(1014));
  append(hex("0000 26bb4f69"));
  return golden;
}

}  // namespace

std::vector<Golden> golden_frames() {
  constexpr std::byte kZero{0};
  return {
      {"RFC 5044 Fig. 5: leading marker",
       true,
       0,
       {send_ulpdu(1, 24, kZero)},
       hex("00000000 002a4143 00000000 00000000 00000001 00000000 00000000 00000000"
           "00000000 00000000 00000000 00000000 52239983")},
      {"the same FPDU without markers",
       false,
       0,
       {send_ulpdu(1, 24, kZero)},
       hex("002a4143 00000000 00000000 00000001 00000000 00000000 00000000"
           "00000000 00000000 00000000 00000000 b7243ec3")},
      {"RFC 5044 Fig. 6: interior marker",
       true,
       492,
       {send_ulpdu(2, 24, kZero)},
       hex("002a4143 00000000 00000000 00000002 00000000 00000014 00000000 00000000"
           "00000000 00000000 00000000 00000000 84925898")},
      {"an FPDU that starts on a boundary",
       true,
       512,
       {send_ulpdu(4, 8, std::byte{0x78})},
       hex("00000000 001a4143 00000000 00000000 00000004 00000000 78787878 78787878 427bb09a")},
      near_512(484, 512, "00000000 01f64143 00000000 00000000 00000001 00000000",
               "5a5a5a5a fb7ed155"),
      near_512(485, 520, "00000000 01f74143 00000000 00000000 00000001 00000000",
               "5a5a5a5a 5a000000 000001fc 65b0e4a0"),
      near_512(488, 520, "00000000 01fa4143 00000000 00000000 00000001 00000000",
               "5a5a5a5a 5a5a5a5a 000001fc ff944fb2"),
      three_markers(),
  };
}

}  // namespace iwarp::test
