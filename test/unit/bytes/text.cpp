// SPDX-License-Identifier: Apache-2.0
// Tests the conversion between octets and hex, and how a Fault is printed and compared.
#include <doctest/doctest.h>

#include "iwarp/bytes/fault.hpp"
#include "iwarp/bytes/hex.hpp"

namespace {

using namespace iwarp::bytes;

TEST_CASE("hex is grouped as requested") {
  const auto octets = *from_hex("0123456789abcdef");
  CHECK(to_hex(octets) == "01234567 89abcdef");
  CHECK(to_hex(octets, 0) == "0123456789abcdef");
  CHECK(to_hex(octets, 3) == "012345 6789ab cdef");
  CHECK(to_hex({}).empty());
}

TEST_CASE("hex is read in either case, with white space and comments") {
  const auto octets = from_hex("dE aD # 12 is not read\n\tbe\r\nef # nor is this").value();
  CHECK(to_hex(octets) == "deadbeef");
  CHECK(from_hex("")->empty());
  CHECK(from_hex("# nothing")->empty());
  CHECK(to_hex(*from_hex("1 2")) == "12");
}

TEST_CASE("text that is not hex is refused") {
  CHECK_FALSE(from_hex("123"));
  CHECK_FALSE(from_hex("0x12"));
  CHECK_FALSE(from_hex("12 3g"));
}

TEST_CASE("a Fault is printed as layer/type/code, and only these are compared") {
  const Fault crc{Layer::kMpa, 0, 0x02, "CRC is wrong"};
  CHECK(to_string(crc) == "2/0/02 CRC is wrong");
  CHECK(to_string(Fault{Layer::kRdma, 2, 0xFF, "unspecified"}) == "0/2/ff unspecified");
  CHECK(crc == Fault{Layer::kMpa, 0, 0x02, "another way to say it"});
  CHECK_FALSE(crc == Fault{Layer::kMpa, 0, 0x03, "CRC is wrong"});
  CHECK_FALSE(crc == Fault{Layer::kMpa, 1, 0x02, "CRC is wrong"});
  CHECK_FALSE(crc == Fault{Layer::kDdp, 0, 0x02, "CRC is wrong"});
}

TEST_CASE("a Check holds a fault or none") {
  const iwarp::bytes::Check good;
  const iwarp::bytes::Check bad = iwarp::bytes::fault({Layer::kDdp, 1, 0, "no"});
  CHECK(good);
  REQUIRE_FALSE(bad);
  CHECK(bad.error() == Fault{Layer::kDdp, 1, 0, ""});
}

}  // namespace
