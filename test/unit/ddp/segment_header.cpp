// SPDX-License-Identifier: Apache-2.0
// Tests the codec of DDP segment headers with golden octets (RFC 5041 sections 4.1 to 4.3).
#include "iwarp/ddp/segment_header.hpp"

#include "support.hpp"

namespace iwarp::ddp {
namespace {

using namespace test;

/// Checks the octets of a header, and that decoding them loses and changes nothing.
void check_octets(const SegmentHeader& header, const std::string& expected) {
  CHECK(bytes::to_hex(segment(header), 0) == expected);
  const auto back = decode_segment_header(segment(header));
  REQUIRE(back);
  CHECK(bytes::to_hex(segment(*back), 0) == expected);
}

TEST_CASE("the tagged header has its 14 octets in order [DDP-12, DDP-13, DDP-20, DDP-22, DDP-23]") {
  const SegmentHeader h{.tagged = true,
                        .last = true,
                        .rsvd_ulp = 0x5A,
                        .stag = Stag{0x11223344},
                        .to = TaggedOffset{0x0102030405060708}};
  check_octets(h, "c15a112233440102030405060708");
}

TEST_CASE("the untagged header has its 18 octets in order [DDP-12, DDP-27, DDP-28, DDP-30]") {
  const SegmentHeader h{.last = true,
                        .rsvd_ulp = 0x44,
                        .rsvd_ulp_rest = 0xA1B2C3D4,
                        .qn = 2,
                        .msn = Msn{0x01020304},
                        .mo = 0x0A0B0C0D};
  check_octets(h, "4144a1b2c3d400000002010203040a0b0c0d");
}

TEST_CASE("without the L bit the control octet is 81 or 01 [DDP-13, DDP-14]") {
  CHECK(std::to_integer<int>(segment(tagged(1, 0, false))[0]) == 0x81);
  CHECK(std::to_integer<int>(segment(untagged(0, 1, 0, false))[0]) == 0x01);
}

TEST_CASE("a ULPDU shorter than its header is a fault at every octet") {
  for (const auto& header : {tagged(0x11223344, 5), untagged(1, 1)}) {
    const auto octets = segment(header);
    for (std::size_t n = 0; n < octets.size(); ++n) {
      // A separate allocation, so that a sanitizer detects a read past its end.
      const Octets cut(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK(fault_of(decode_segment_header(cut)) == kDdpCatastrophic);
      CHECK(describe_segment(cut) == fmt::format("DDP truncated ({} octets)", n));
    }
    CHECK(decode_segment_header(octets));
  }
}

TEST_CASE("describe names the fields, and a version other than 1") {
  CHECK(describe_segment(segment(tagged(0xAB, 0x1000), pattern(5))) ==
        "DDP tagged last STag=0x000000ab TO=0x1000 payload=5");
  CHECK(describe_segment(segment(untagged(1, 7, 20, false), pattern(2))) ==
        "DDP untagged QN=1 MSN=7 MO=20 payload=2");
  auto wrong = tagged(1, 0);
  wrong.version = 2;
  CHECK(describe_segment(segment(wrong)).ends_with(" DV=2 payload=0"));
}

}  // namespace
}  // namespace iwarp::ddp
