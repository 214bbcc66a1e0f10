// SPDX-License-Identifier: Apache-2.0
// Tests the tester's own FPDU builder against the worked frames, and against mpa::Framer for valid
// FPDUs. The builder shares no code with the framer or with the tests' reference encoder.
#include "conform/script/fpdu.hpp"

#include <doctest/doctest.h>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/framer.hpp"
#include "vectors.hpp"

namespace iwarp::test {
namespace {

using apps::conform::Framing;
using apps::conform::make_fpdu;
using apps::conform::make_ulpdu;
using apps::conform::Octets;
using apps::conform::pattern;
using apps::conform::tagged;
using apps::conform::untagged;
using rdmap::Opcode;

Octets text(std::string_view from) {
  const auto octets = std::as_bytes(std::span(from));
  return {octets.begin(), octets.end()};
}

Octets fpdu_of(const Octets& ulpdu) {
  Framing framing;
  return make_fpdu(ulpdu, framing);
}

Octets golden(const char* name) { return load_vector("messages.hex", name).octets; }

Octets framed_by_mpa(const Octets& ulpdu, const Framing& framing) {
  mpa::Framer framer(
      {.markers = framing.markers, .crc = framing.crc, .position = framing.position});
  bytes::Gather payload;
  if (!ulpdu.empty()) payload.push_back(ulpdu);
  framer.frame({}, payload, mpa::PayloadMode::kInPlace, 0);
  Octets out;
  for (const auto piece : framer.plan(1024)) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

// Returns the CRC field at the end of `fpdu`, least significant octet first.
std::uint32_t crc_field(const Octets& fpdu) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i != 0; --i) {
    value = value << 8 | std::to_integer<std::uint32_t>(fpdu[fpdu.size() - 5 + i]);
  }
  return value;
}

std::uint32_t crc_of_rest(const Octets& fpdu) {
  return crc32c::compute(bytes::View(fpdu).first(fpdu.size() - 4));
}

}  // namespace

TEST_CASE("the tester builds the worked frames [MPA-12] [MPA-14] [DDP-18] [RDMAP-7]") {
  CHECK(fpdu_of(make_ulpdu(tagged(Opcode::kWrite, 1, 0), {})) == golden("C"));
  CHECK(fpdu_of(make_ulpdu(untagged(Opcode::kSend, 1), {})) == golden("C1"));
  CHECK(fpdu_of(make_ulpdu(untagged(Opcode::kSend, 1), text("hello"))) == golden("D"));
  CHECK(fpdu_of(make_ulpdu(untagged(Opcode::kSendInvalidate, 2, 0x00A1B2C3), {})) == golden("E"));
  CHECK(fpdu_of(make_ulpdu(tagged(Opcode::kWrite, 0x11223344, 0x1'00000010), text("ABCDEFGH"))) ==
        golden("F"));
  const rdmap::ReadRequest request{.sink_stag = {0x55667788},
                                   .sink_to = {0x2000},
                                   .size = 64,
                                   .source_stag = {0x11223344},
                                   .source_to = {0x1000}};
  const auto octets = apps::conform::encode_read_request(request);
  CHECK(fpdu_of(make_ulpdu(untagged(Opcode::kReadRequest, 1), octets)) == golden("G"));
}

TEST_CASE("the tester's markers equal those of the worked frames [MPA-26] [MPA-27]") {
  for (const auto& vector : load_vectors("marked.hex")) {
    if (!vector.position) continue;
    CAPTURE(vector.name);
    mpa::Deframer deframer({.markers = true, .crc = true, .position = *vector.position});
    REQUIRE(deframer.feed(vector.octets) == vector.octets.size());
    REQUIRE(*deframer.next(0) == mpa::Step::kUlpdu);
    Octets ulpdu;
    for (const auto piece : deframer.ulpdu()) ulpdu.insert(ulpdu.end(), piece.begin(), piece.end());
    Framing framing{.markers = true, .position = *vector.position};
    CHECK(make_fpdu(ulpdu, framing) == vector.octets);
    CHECK(framing.position == *vector.position + vector.octets.size());
  }
}

TEST_CASE("tester and Framer build the same FPDUs for every size around a marker") {
  for (const bool markers : {false, true}) {
    for (const bool crc : {false, true}) {
      for (std::uint64_t position = 0; position < 512; position += 44) {
        for (std::size_t size = 0; size < 1100; size += size < 24 ? 1 : 31) {
          CAPTURE(markers);
          CAPTURE(position);
          CAPTURE(size);
          Framing framing{.markers = markers, .crc = crc, .position = position};
          const Octets ulpdu = pattern(size);
          const Octets expected = framed_by_mpa(ulpdu, framing);
          REQUIRE(make_fpdu(ulpdu, framing) == expected);
        }
      }
    }
  }
}

TEST_CASE("a deliberate error changes only one place of the FPDU") {
  const Octets ulpdu = pattern(21);
  const Octets right = fpdu_of(ulpdu);
  Framing framing;
  const Octets crc = make_fpdu(ulpdu, framing, {.crc_xor = 0x80});
  CHECK((crc_field(crc) ^ crc_field(right)) == 0x80);
  CHECK(crc_of_rest(crc) == crc_of_rest(right));

  const Octets pad = make_fpdu(ulpdu, framing, {.pad_fill = 0x77});
  CHECK(pad[2 + ulpdu.size()] == std::byte{0x77});
  CHECK(crc_field(pad) == crc_of_rest(pad));

  const Octets length = make_fpdu(ulpdu, framing, {.ulpdu_length = std::uint16_t{99}});
  CHECK(length.size() == right.size());
  CHECK(length[1] == std::byte{99});
  CHECK(crc_field(length) == crc_of_rest(length));

  Octets flipped = make_fpdu(ulpdu, framing, {.flip_octet = 5});
  CHECK(flipped != right);
  flipped[5] ^= std::byte{1};
  CHECK(flipped == right);
}

TEST_CASE(
    "only the first marker has a wrong pointer on request; all markers have the reserved half") {
  Framing framing{.markers = true};
  const Octets right = make_fpdu(pattern(700), framing);
  framing.position = 0;
  const Octets wrong =
      make_fpdu(pattern(700), framing, {.fpduptr_xor = 4, .marker_reserved = 0xABCD});
  CHECK(wrong[0] == std::byte{0xAB});
  CHECK(wrong[512] == std::byte{0xAB});
  CHECK((wrong[3] ^ right[3]) == std::byte{4});
  CHECK(wrong[514] == right[514]);
  CHECK(wrong[515] == right[515]);
  CHECK(crc_field(wrong) == crc_of_rest(wrong));
}

TEST_CASE("patterns with different seeds differ") {
  CHECK(pattern(16, 1) != pattern(16, 2));
  CHECK(pattern(16, 3) == pattern(16, 3));
}

}  // namespace iwarp::test
