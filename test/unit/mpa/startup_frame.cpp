// SPDX-License-Identifier: Apache-2.0
// Tests the codec of Request and Reply: flags, keys, lengths, and truncation at every octet. The
// tests of initiator and responder compare whole frames.
#include "iwarp/mpa/startup_frame.hpp"

#include "iwarp/mpa/faults.hpp"
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

std::string encoded(const StartupFrame& frame) {
  std::array<std::byte, kStartupHeaderSize + kMaxPrivateData> room;
  bytes::Writer out(room);
  encode(frame, out);
  REQUIRE(out.ok());
  return text(out.written());
}

TEST_CASE("each flag has its bit, and reserved bits are zero when sent [MPA-74]") {
  const std::pair<StartupFrame, const char*> rows[] = {
      {{.crc = false}, "00010000"},
      {{.markers = true, .crc = false}, "80010000"},
      {{.crc = true}, "40010000"},
      {{.crc = false, .rejected = true}, "20010000"},
      {{.crc = false, .enhanced = true}, "10010000"}};
  for (const auto& [frame, octets] : rows) CHECK(encoded(frame) == kRequestKey + octets);
}

TEST_CASE("every field of the enhanced word has its bits [EMPA-15]") {
  CHECK(encode(EnhancedWord{.peer_to_peer = true}) == 0x80000000);
  CHECK(encode(EnhancedWord{.rtr_send = true}) == 0x40000000);
  CHECK(encode(EnhancedWord{.ird = 0x3FFF}) == 0x3FFF0000);
  CHECK(encode(EnhancedWord{.rtr_write = true}) == 0x00008000);
  CHECK(encode(EnhancedWord{.rtr_read = true}) == 0x00004000);
  CHECK(encode(EnhancedWord{.ord = 0x3FFF}) == 0x00003FFF);
  CHECK(encode(EnhancedWord{.ird = 0xFFFF, .ord = 0xFFFF}) == 0x3FFF3FFF);
  for (unsigned bit = 0; bit < 32; ++bit) {
    CHECK(encode(decode_enhanced_word(1U << bit)) == 1U << bit);
  }
}

TEST_CASE("an incomplete frame asks for more octets, but for none after its end [MPA-100]") {
  const auto whole = hex(kFrameA);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto result = decode_startup_frame(FrameKind::kRequest, bytes::View(whole).first(n));
    REQUIRE(result);
    REQUIRE(std::holds_alternative<NeedOctets>(*result));
    CHECK(std::get<NeedOctets>(*result).total == (n < 20 ? 20 : whole.size()));
  }
}

TEST_CASE("a wrong key is detected at the first octet that differs [MPA-66, MPA-68]") {
  const auto whole = hex(kFrameA);
  for (std::size_t wrong = 0; wrong < 16; ++wrong) {
    auto damaged = whole;
    damaged[wrong] ^= std::byte{0x01};
    for (std::size_t n = 0; n <= damaged.size(); ++n) {
      const auto result = decode_startup_frame(FrameKind::kRequest, bytes::View(damaged).first(n));
      INFO("wrong ", wrong, ", octets ", n);
      CHECK(result.has_value() == (n <= wrong));
      if (!result) CHECK(result.error() == kBadStartupFrame);
    }
  }
}

TEST_CASE("the key of the other frame kind is wrong from its tenth octet [MPA-94, MPA-98]") {
  const auto request = hex(kFrameA);
  CHECK(decode_startup_frame(FrameKind::kReply, bytes::View(request).first(9)).has_value());
  CHECK_FALSE(decode_startup_frame(FrameKind::kReply, bytes::View(request).first(10)).has_value());
}

TEST_CASE("frames are described in one line") {
  CHECK(describe_startup_frame(hex(kFrameA)) ==
        "MPA Request rev 2, M=false C=true R=false S=true, PD_Length 8, peer-to-peer write read, "
        "IRD 4, ORD 4");
  CHECK(describe_startup_frame(hex(kFrameB)) ==
        "MPA Reply rev 2, M=false C=true R=false S=true, PD_Length 4, peer-to-peer write, IRD 4, "
        "ORD 4");
  CHECK(describe_startup_frame(frame(FrameKind::kReply, 0xA8, 1)) ==
        "MPA Reply rev 1, M=true C=false R=true S=false Res=0x8, PD_Length 0");
  CHECK(describe_startup_frame(frame(FrameKind::kRequest, 0x50, 2)) ==
        "MPA Request rev 2, M=false C=true R=false S=true, PD_Length 0, IRD and ORD missing");
  CHECK(describe_startup_frame(octets("GET / HTTP/1.1\r\n")).find("wrong key") !=
        std::string::npos);
}

TEST_CASE("truncated and damaged frames are described in one line, too") {
  const auto whole = hex(kFrameA);
  CHECK(describe_startup_frame({}) == "MPA startup frame, truncated to 0 of 20 octets");
  CHECK(describe_startup_frame(bytes::View(whole).first(12)) ==
        "MPA Request, truncated to 12 of 20 octets");
  CHECK(describe_startup_frame(bytes::View(whole).first(26)) ==
        "MPA Request rev 2, M=false C=true R=false S=true, PD_Length 8, peer-to-peer write read, "
        "IRD 4, ORD 4, truncated to 26 of 28 octets");
  CHECK(describe_startup_frame(frame(FrameKind::kRequest, 0, 1, Octets(513))) ==
        "MPA Request rev 1, M=false C=false R=false S=false, PD_Length 513 (more than 512)");
}

}  // namespace
}  // namespace iwarp::mpa::test
