// SPDX-License-Identifier: Apache-2.0
// Tests FPDU sizes, the count of markers and the MULPDU formula (RFC 5044 sections 4.1, 4.3, 4.5),
// and the layout arithmetic that framer and deframer use.
#include "iwarp/mpa/fpdu.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "iwarp/mpa/layout.hpp"

namespace iwarp::mpa {

TEST_CASE("MULPDU follows the formula for the EMSS [MPA-4] [MPA-47] [MPA-48]") {
  struct Row {
    std::size_t emss, without, with;
  };
  for (const Row& row : std::vector<Row>{{536, 530, 522},
                                         {1220, 1214, 1202},
                                         {1448, 1442, 1430},
                                         {1460, 1454, 1442},
                                         {8948, 8942, 8870},
                                         {8960, 8954, 8882},
                                         {16384, 16378, 16250},
                                         {1449, 1442, 1430},  // The formula subtracts EMSS mod 4.
                                         {1451, 1442, 1430}}) {
    CAPTURE(row.emss);
    CHECK(mulpdu_for(row.emss, false) == Mulpdu{row.without});
    CHECK(mulpdu_for(row.emss, true) == Mulpdu{row.with});
  }
}

TEST_CASE("MULPDU stays inside 128..64768 at both ends [MPA-6] [MPA-51] [MPA-52]") {
  for (const bool markers : {false, true}) {
    CAPTURE(markers);
    for (const std::size_t emss : {1U, 5U, 64U, 128U, 133U}) {
      CHECK(mulpdu_for(emss, markers) == Mulpdu{kMinMulpdu});
    }
    CHECK(mulpdu_for(65483, markers) == Mulpdu{kMaxMulpdu});
    CHECK(mulpdu_for(1U << 30, markers) == Mulpdu{kMaxMulpdu});
  }
  // MULPDU = EMSS - (6 + EMSS mod 4) = 134 - (6 + 2) = 126, which is raised to the minimum.
  CHECK(mulpdu_for(134, false) == Mulpdu{128});
  CHECK(mulpdu_for(136, false) == Mulpdu{130});  // 136 is the first EMSS above the lower bound.
  CHECK(mulpdu_for(64774, false) == Mulpdu{64766});
  CHECK(mulpdu_for(64776, false) == Mulpdu{64768});
}

TEST_CASE("an unknown EMSS is taken for that of an Ethernet MTU [MPA-53]") {
  CHECK(mulpdu_for(0, false) == Mulpdu{1442});
  CHECK(mulpdu_for(0, true) == Mulpdu{1430});
}

TEST_CASE("markers are counted at 0, 512, 1024, but not at the end of the stream [MPA-25]") {
  CHECK(markers_within(0, 0) == 0);
  CHECK(markers_within(0, 1) == 1);
  CHECK(markers_within(0, 508) == 1);
  CHECK(markers_within(0, 509) == 2);
  CHECK(markers_within(4, 508) == 0);
  CHECK(markers_within(4, 509) == 1);
  CHECK(markers_within(508, 4) == 0);
  CHECK(markers_within(508, 8) == 1);
  CHECK(markers_within((std::uint64_t{1} << 32) - 4, 8) == 1);
  for (std::uint64_t start = 0; start < 1024; start += 4) {
    for (std::size_t octets = 0; octets < 2000; octets += 4) {
      std::size_t count = 0;
      std::uint64_t at = start;
      for (std::size_t sent = 0; sent < octets; ++sent, ++at) {
        if (at % 512 == 0) {
          ++count;
          at += 4;
        }
      }
      REQUIRE(markers_within(start, octets) == count);
    }
  }
}

TEST_CASE("the layout assigns each octet of an FPDU as a walk along the stream does [MPA-27]") {
  // Writes one letter for each octet on the wire: m for a marker, u for the ULPDU, a dot for the
  // length field, PAD and CRC.
  for (std::uint64_t start = 0; start < 512; start += 4) {
    for (const std::size_t length :
         {0U, 1U, 2U, 485U, 486U, 500U, 502U, 506U, 1000U, 1018U, 1525U}) {
      INFO("start ", start, ", length ", length);
      const FpduLayout layout(start, true, length);
      std::string walked;
      std::vector<std::size_t> ulpdu;
      for (std::size_t data = 0; data < fpdu_size(length); ++data) {
        if ((start + walked.size()) % 512 == 0) walked += "mmmm";
        const bool inside = data >= 2 && data < 2 + length;
        if (inside) ulpdu.push_back(walked.size());
        walked += inside ? 'u' : '.';
      }
      REQUIRE(layout.wire_size() == walked.size());
      std::vector<std::size_t> offsets;
      offsets.reserve(length);
      for (std::size_t i = 0; i < length; ++i) offsets.push_back(layout.offset_of(i));
      REQUIRE(offsets == ulpdu);
      for (char& octet : walked) octet = octet == 'm' ? 'm' : '.';
      for (std::size_t from = 0; from < walked.size(); from += 7) {
        std::string seen(from, ' ');
        layout.walk(from, walked.size(), [&](const FpduLayout::Run& run) {
          REQUIRE(run.size > 0);
          REQUIRE(run.offset == seen.size());
          if (run.marker) REQUIRE(run.offset - layout.marker_offset(run.marker_index) < 4);
          seen.append(run.size, run.marker ? 'm' : '.');
        });
        REQUIRE(seen.substr(from) == walked.substr(from));
      }
    }
  }
}

}  // namespace iwarp::mpa
