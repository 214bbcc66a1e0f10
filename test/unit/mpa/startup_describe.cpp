// SPDX-License-Identifier: Apache-2.0
// FPDUs as text: right, wrong, missing and truncated, with and without markers.
#include "iwarp/mpa/describe.hpp"
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

/// RFC 5044 Fig. 5: the first FPDU of a stream with markers.
const std::string kFigure5 =
    "00000000 002a4143 00000000 00000000 00000001 00000000 00000000 00000000 00000000 00000000 "
    "00000000 00000000 52239983";

TEST_CASE("an FPDU is described in one line [MPA-12, MPA-13, MPA-14]") {
  // Send "hello" with three octets of PAD.
  const auto fpdu = hex("00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c");
  CHECK(describe_fpdu(fpdu) == "MPA FPDU ULPDU_Length 23, pad 3, CRC 0cb190b9 right");
  auto longer = fpdu;
  longer.push_back(std::byte{1});
  CHECK(describe_fpdu(longer) == describe_fpdu(fpdu));
}

TEST_CASE("a wrong CRC is described with the right one [MPA-43]") {
  const auto fpdu = hex("000ec140 00000001 00000000 00000000 ebd34c5e");
  CHECK(describe_fpdu(fpdu) ==
        "MPA FPDU ULPDU_Length 14, pad 0, CRC 5e4cd3eb wrong, expected 5f4cd3eb");
  const auto off = hex("000ec140 00000001 00000000 00000000 00000000");
  CHECK(describe_fpdu(off) == "MPA FPDU ULPDU_Length 14, pad 0, CRC 00000000 (off, or wrong)");
}

TEST_CASE("an FPDU with a leading marker is described at its place in the stream [MPA-44]") {
  const auto fpdu = hex(kFigure5);
  CHECK(describe_fpdu(fpdu, 0) ==
        "MPA FPDU ULPDU_Length 42, pad 0, markers 0000, CRC 83992352 right");
  CHECK(describe_fpdu(fpdu, 512 * 7) == describe_fpdu(fpdu, 0));
}

TEST_CASE("a marker between PAD and CRC is described and covered [MPA-45]") {
  // A first FPDU with a 485-octet payload: PAD ends at position 512.
  auto fpdu = hex("00000000 01f74143 00000000 00000000 00000001 00000000");
  fpdu.resize(fpdu.size() + 485, std::byte{0x5A});
  const auto tail = hex("000000 000001fc 65b0e4a0");
  fpdu.insert(fpdu.end(), tail.begin(), tail.end());
  REQUIRE(fpdu.size() == 520);
  CHECK(describe_fpdu(fpdu, 0) ==
        "MPA FPDU ULPDU_Length 503, pad 3, markers 0000 01fc, CRC a0e4b065 right");
}

/// Every beginning of `fpdu` is called truncated, in one line.
void check_truncations(const Octets& fpdu, std::optional<std::uint64_t> position) {
  for (std::size_t n = 0; n < fpdu.size(); ++n) {
    const Octets part(fpdu.begin(), fpdu.begin() + static_cast<std::ptrdiff_t>(n));
    const auto line = describe_fpdu(part, position);
    CAPTURE(line);
    CHECK(line.find("truncated at " + std::to_string(n) + " octets") != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("an FPDU truncated anywhere is described without reading past its end") {
  check_truncations(hex("00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c"),
                    {});
  check_truncations(hex(kFigure5), 0);
}

}  // namespace
}  // namespace iwarp::mpa::test
