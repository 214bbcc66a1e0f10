// SPDX-License-Identifier: Apache-2.0
// Tests how the tester reads a peer's octets: both layouts of a Terminate, wrong CRCs, and ways to
// end the connection.
#include "conform/script/peer_reader.hpp"

#include <doctest/doctest.h>

namespace iwarp::test {
namespace {

using namespace apps::conform;
using Kind = Received::Kind;

/// A reader that has read the startup frames. Next it reads FPDUs with CRCs.
struct Established {
  PeerReader peer_reader;
  apps::conform::Framing framing;

  Established() {
    peer_reader.said({.kind = mpa::FrameKind::kRequest, .crc = true, .revision = 1});
    Octets reply(mpa::kStartupHeaderSize);
    bytes::Writer writer(reply);
    mpa::encode({.kind = mpa::FrameKind::kReply, .crc = true, .revision = 1}, writer);
    peer_reader.octets(reply);
    CHECK(next().kind == Kind::kStartup);
  }

  Received next() {
    auto received = peer_reader.next();
    REQUIRE(received.has_value());
    return std::move(*received);
  }

  Received message(rdmap::Opcode opcode, const Octets& payload,
                   const apps::conform::Tamper& tamper = {}) {
    peer_reader.octets(make_fpdu(make_ulpdu(untagged(opcode, 1), payload), framing, tamper));
    return next();
  }
};

}  // namespace

TEST_CASE("a Terminate is decoded in both layouts, and its layout is reported [RDMAP-66]") {
  constexpr bytes::Fault kInvalidMo{bytes::Layer::kDdp, 2, 5};
  const auto receive = [](std::uint8_t layer_and_type) {
    Established e;
    return e.message(rdmap::Opcode::kTerminate,
                     {std::byte{layer_and_type}, std::byte{0x05}, std::byte{0}, std::byte{0}});
  };
  const auto standard = receive(0x12);
  REQUIRE(standard.kind == Kind::kSegment);
  CHECK(apps::conform::read_terminate(*standard.segment).standard_layout);
  CHECK(apps::conform::read_terminate(*standard.segment).terminate.fault == kInvalidMo);
  CHECK(describe(standard).find("wrong layout") == std::string::npos);

  const auto swapped = receive(0x21);
  REQUIRE(swapped.kind == Kind::kSegment);
  CHECK(!apps::conform::read_terminate(*swapped.segment).standard_layout);
  CHECK(apps::conform::read_terminate(*swapped.segment).terminate.fault == kInvalidMo);
  CHECK(describe(swapped).ends_with("(wrong layout of the Terminate Control field)"));
}

TEST_CASE("a wrong CRC is reported, and reading continues") {
  Established e;
  const auto bad = e.message(rdmap::Opcode::kSend, Octets(5), {.crc_xor = 1});
  CHECK(bad.segment->crc == trace::CrcVerdict::kBad);
  CHECK(describe(bad) == "Send of 5 octets with a wrong CRC");
  const auto good = e.message(rdmap::Opcode::kSend, Octets(6));
  CHECK(describe(good) == "Send of 6 octets");
}

TEST_CASE("FIN and reset are distinguished, and reported after the octets that came before them") {
  for (const bool reset : {false, true}) {
    Established e;
    CHECK(!e.peer_reader.next());
    e.peer_reader.octets(make_fpdu(make_ulpdu(untagged(rdmap::Opcode::kSend, 1), {}), e.framing));
    e.peer_reader.ended(reset);
    CHECK(e.next().kind == Kind::kSegment);
    CHECK(e.next().kind == (reset ? Kind::kReset : Kind::kClosed));
  }
}

TEST_CASE("octets that are not a frame are kept, with the reason") {
  PeerReader peer_reader;
  peer_reader.said({.kind = mpa::FrameKind::kRequest, .crc = true, .revision = 1});
  peer_reader.octets(Octets(64, std::byte{0x58}));
  const auto received = peer_reader.next();
  REQUIRE(received.has_value());
  CHECK(received->kind == Kind::kGarbage);
  CHECK(!received->why.empty());
}

}  // namespace iwarp::test
