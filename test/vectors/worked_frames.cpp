// SPDX-License-Identifier: Apache-2.0
// Decodes every worked frame with every codec and encodes it again. The result must equal the
// input, octet by octet.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/describe.hpp"
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
    const auto request = rdmap::decode_read_request(in);
    REQUIRE(request.has_value());
    encode(*request, writer);
  } else if (is(rdmap::Opcode::kAtomicRequest)) {
    const auto request = rdmap::decode_atomic_request(in);
    REQUIRE(request.has_value());
    encode(*request, writer);
  } else if (is(rdmap::Opcode::kAtomicResponse)) {
    const auto response = rdmap::decode_atomic_response(in);
    REQUIRE(response.has_value());
    encode(*response, writer);
  } else if (is(rdmap::Opcode::kTerminate)) {
    const auto terminate = rdmap::decode_terminate(in);
    REQUIRE(terminate.has_value());
    encode(*terminate, writer);
  } else {
    writer.put(in);
  }
  CHECK(writer.ok());
  CHECK(writer.size() == in.size());
  return out;
}

void check_fpdus(const std::string& file) {
  for (const auto& vector : load_vectors(file)) {
    CAPTURE(vector.name);
    const Octets ulpdu = ulpdu_of(vector);
    const auto header = ddp::decode_segment_header(ulpdu);
    REQUIRE(header.has_value());
    Octets header_again(header->size());
    bytes::Writer writer(header_again);
    encode(*header, writer);
    const Octets payload =
        message_again(header->rsvd_ulp & rdmap::kOpcodeMask, View(ulpdu).subspan(header->size()));
    CHECK(framed(vector, header_again, payload) == vector.octets);
  }
}

/// Returns RDMAP's descriptions of the vectors in a file, by the names of the vectors.
std::map<std::string, std::string> said(const std::string& file) {
  std::map<std::string, std::string> out;
  for (const auto& vector : load_vectors(file)) {
    out[vector.name] = rdmap::describe_message(ulpdu_of(vector));
  }
  return out;
}

TEST_CASE("worked startup frames are decoded and encoded again [MPA-65] [MPA-67] [EMPA-15]") {
  const auto vectors = load_vectors("startup.hex");
  REQUIRE(vectors.size() == 2);
  for (const auto& vector : vectors) {
    CAPTURE(vector.name);
    const auto kind = vector.name == "A" ? mpa::FrameKind::kRequest : mpa::FrameKind::kReply;
    const auto decoded = mpa::decode_startup_frame(kind, vector.octets);
    REQUIRE(decoded.has_value());
    const auto* frame = std::get_if<mpa::StartupFrame>(&*decoded);
    REQUIRE(frame != nullptr);
    CHECK(frame->revision == 2);
    CHECK(frame->enhanced);
    CHECK(frame->crc);
    CHECK_FALSE(frame->markers);
    REQUIRE(frame->private_data.size() >= mpa::kEnhancedWordSize);
    const auto raw = bytes::load_be<std::uint32_t>(frame->private_data.data());
    const auto word = mpa::decode_enhanced_word(raw);
    CHECK(word.peer_to_peer);
    CHECK(word.ird == 4);
    CHECK(word.ord == 4);
    CHECK(word.rtr_write);
    CHECK(word.rtr_read == (vector.name == "A"));
    CHECK(mpa::encode(word) == raw);
    Octets again(vector.octets.size());
    bytes::Writer writer(again);
    encode(*frame, writer);
    CHECK(writer.ok());
    CHECK(again == vector.octets);
  }
}

TEST_CASE(
    "worked FPDUs are decoded and encoded again through MPA, DDP and RDMAP [MPA-43] [DDP-18]") {
  check_fpdus("messages.hex");
}

TEST_CASE(
    "worked Terminates are decoded and encoded again [RDMAP-15] [RDMAP-19] [RDMAP-20] [RDMAP-21]") {
  check_fpdus("terminates.hex");
}

TEST_CASE(
    "worked frames of RFC 7306 are decoded and encoded again [EXT-22] [EXT-23] [EXT-37] [EXT-52]") {
  check_fpdus("extensions.hex");
}

TEST_CASE("worked FPDUs with markers are decoded and encoded again [MPA-27] [MPA-28] [MPA-30]") {
  check_fpdus("marked.hex");
}

TEST_CASE("worked messages are described in words [RDMAP-6]") {
  auto words = said("messages.hex");
  CHECK(words["C"] == "RDMAP RDMA Write");
  CHECK(words["C1"] == "RDMAP Send");
  CHECK(words["C3"] == "RDMAP RDMA Read Response");
  CHECK(words["E"] == "RDMAP Send with Invalidate STag=0x00a1b2c3");
  CHECK(words["G"] ==
        "RDMAP RDMA Read Request 64 octets from STag=0x11223344 TO=0x1000 to STag=0x55667788 "
        "TO=0x2000");
  words = said("extensions.hex");
  CHECK(words["I"] == "RDMAP Immediate Data with Solicited Event 0x0102030405060708");
  CHECK(words["J"] ==
        "RDMAP Atomic Request FetchAdd id=0xcafe0001 STag=0x11223344 TO=0x1000 add=0x1 mask=0x0 "
        "compare=0x0 mask=0xffffffffffffffff");
  CHECK(words["K2"] == "RDMAP Atomic Response id=0xcafe0002 original=0x2a");
}

TEST_CASE("worked Terminates are described in words [RDMAP-16]") {
  auto words = said("terminates.hex");
  const auto says = [&words](const std::string& name, const std::string& part) {
    CHECK_MESSAGE(words[name].find(part) != std::string::npos, name, ": ", words[name]);
  };
  says("L", "1/1/00");
  says("L", "STag=0xdeadbeef");
  says("M", "0/1/02");
  says("M", "with Read Request header");
  says("N", "2/0/02");
  says("N0", "0/0/00");
  says("N5", "0/2/07");
  says("N6", "2/0/06");
  says("N7", "2/0/07");
}

}  // namespace
}  // namespace iwarp::test
