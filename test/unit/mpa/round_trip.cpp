// SPDX-License-Identifier: Apache-2.0
// Compares the Framer with the reference encoder and feeds its output to the Deframer. Covers every
// ULPDU length up to 2100 and the largest lengths, markers and CRC on and off, and any TCP
// segmentation.
#include <doctest/doctest.h>

#include "stream.hpp"

namespace iwarp::test {
namespace {

using namespace mpa;

struct Mode {
  bool markers;
  bool crc;
};
constexpr Mode kModes[] = {{false, false}, {false, true}, {true, false}, {true, true}};

void frame_with_room(Framer& framer, View ulpdu, std::size_t header_size, PayloadMode mode,
                     Octets& stream) {
  const View payload = ulpdu.subspan(header_size);
  if (!framer.room(header_size, payload.size(), mode)) {
    append(stream, send_all(framer));
    while (framer.pop_sent()) {
    }
  }
  REQUIRE(framer.room(header_size, payload.size(), mode));
  framer.frame(ulpdu.first(header_size), bytes::Gather{payload}, mode, 0);
}

/// Returns the lengths 0 to 2100 and some large ones, up to the maximum.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all;
  for (std::size_t length = 0; length <= 2100; ++length) all.push_back(length);
  for (const std::size_t length : {4095U, 8942U, 16250U, 16378U, 40000U, 64765U, 64768U}) {
    all.push_back(length);
  }
  return all;
}

}  // namespace

TEST_CASE(
    "every length is framed as the RFC specifies, and decoded correctly for any split [MPA-9] "
    "[MPA-12] [MPA-14] [MPA-17] [MPA-25] [MPA-31] [MPA-33] [MPA-34] [MPA-56] [DDP-4] [DDP-11]") {
  const Octets source = random_octets(66000, 11);
  const auto all = lengths();
  for (const auto& [markers, crc] : kModes) {
    for (const PayloadMode mode : {PayloadMode::kInPlace, PayloadMode::kCopy}) {
      INFO("markers ", markers, ", crc ", crc);
      Framer framer({.markers = markers, .crc = crc, .copy_below = 300});
      ReferenceStream reference(markers, crc);
      Octets stream;
      for (const std::size_t length : all) {
        const View ulpdu = View(source).subspan(length % 17, length);
        frame_with_room(framer, ulpdu, std::min<std::size_t>(length, 14 + length % 5), mode,
                        stream);
        reference.fpdu(ulpdu);
      }
      append(stream, send_all(framer, 1000));
      REQUIRE(stream == reference.octets());
      CHECK((framer.counters().octets_crced != 0) == crc);
      CHECK(framer.counters().octets == stream.size());

      std::mt19937 random(12);
      for (const std::size_t most : {1U, 7U, 1448U, 20000U, 300000U}) {
        CAPTURE(most);
        Deframer deframer({.markers = markers, .crc = crc, .stage = 70000});
        const Received received =
            receive_all(deframer, stream, [&] { return 1 + random() % most; });
        REQUIRE(!received.fault);
        REQUIRE(received.ulpdus.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
          const std::size_t length = all[i];
          const View sent = View(source).subspan(length % 17, length);
          REQUIRE(std::ranges::equal(received.ulpdus[i], sent));
        }
        CHECK(deframer.at_boundary());
        CHECK(deframer.counters().octets == stream.size());
        CHECK(deframer.counters().markers == framer.counters().markers);
        CHECK(deframer.counters().pad_octets == framer.counters().pad_octets);
      }
    }
  }
}

}  // namespace iwarp::test
