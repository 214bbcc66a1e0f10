// SPDX-License-Identifier: Apache-2.0
// Decodes every worked frame with every codec and encodes it again. The result must equal the
// input, octet by octet.
#include <doctest/doctest.h>

#include <vector>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "vectors.hpp"

namespace iwarp::test {
namespace {

using bytes::View;
using Octets = std::vector<std::byte>;

Octets join(std::span<const View> pieces) {
  Octets out;
  for (const View piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

/// Returns the ULPDU of a vector that is one FPDU, as the deframer returns it.
Octets ulpdu_of(const Vector& vector) {
  mpa::Deframer deframer({.markers = vector.position.has_value(),
                          .crc = true,
                          .position = vector.position.value_or(0)});
  REQUIRE(deframer.feed(vector.octets) == vector.octets.size());
  const auto step = deframer.next(0);
  REQUIRE(bool{step});
  REQUIRE(*step == mpa::Step::kUlpdu);
  Octets ulpdu = join(deframer.ulpdu());
  deframer.consume();
  CHECK(deframer.at_boundary());
  return ulpdu;
}

Octets framed(const Vector& vector, View header, View payload) {
  mpa::Framer framer({.markers = vector.position.has_value(),
                      .crc = true,
                      .position = vector.position.value_or(0)});
  bytes::Gather gather;
  if (!payload.empty()) gather.push_back(payload);
  framer.frame(header, gather, mpa::PayloadMode::kInPlace, 0);
  return join(framer.plan(1024));
}

/// Decodes the RDMAP header after the DDP header and encodes it again. Does not change the
/// application's payload.
Octets message_again(std::uint8_t opcode, View in) {
  Octets out(in.size());
  bytes::Writer writer(out);
  const auto is = [opcode](rdmap::Opcode o) { return opcode == static_cast<std::uint8_t>(o); };
  if (is(rdmap::Opcode::kReadRequest)) {
    const auto request = rdmap::decode_read_request(in).value();
    encode(request, writer);
  } else if (is(rdmap::Opcode::kAtomicRequest)) {
    const auto request = rdmap::decode_atomic_request(in).value();
    encode(request, writer);
  } else if (is(rdmap::Opcode::kAtomicResponse)) {
    const auto response = rdmap::decode_atomic_response(in).value();
    encode(response, writer);
  } else if (is(rdmap::Opcode::kTerminate)) {
    const auto terminate = rdmap::decode_terminate(in).value();
    encode(terminate, writer);
  } else {
    writer.put(in);
  }
  CHECK(writer.ok());
  CHECK(writer.size() == in.size());
  return out;
}

TEST_CASE(
    "worked FPDUs are decoded and encoded again through MPA, DDP and RDMAP [MPA-13] [MPA-15] "
    "[MPA-19] [MPA-20] [MPA-22] [MPA-26] [MPA-27] [MPA-28] [MPA-29] [MPA-30] [MPA-43] [MPA-44] "
    "[MPA-45] [MPA-57] [MPA-60] [MPA-97] [DDP-18] [DDP-22] [DDP-27] [DDP-36] [RDMAP-15] "
    "[RDMAP-19] [RDMAP-20] [RDMAP-21] [EXT-22] [EXT-23] [EXT-37] [EXT-52]") {
  for (const auto* file : {"messages.hex", "terminates.hex", "extensions.hex", "marked.hex"}) {
    for (const auto& vector : load_vectors(file)) {
      CAPTURE(vector.name);
      const Octets ulpdu = ulpdu_of(vector);
      const auto header = ddp::decode_segment_header(ulpdu).value();
      Octets header_again(header.size());
      bytes::Writer writer(header_again);
      encode(header, writer);
      const Octets payload =
          message_again(header.rsvd_ulp & rdmap::kOpcodeMask, View(ulpdu).subspan(header.size()));
      CHECK(framed(vector, header_again, payload) == vector.octets);
    }
  }
}

}  // namespace
}  // namespace iwarp::test
