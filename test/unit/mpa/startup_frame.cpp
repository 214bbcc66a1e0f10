// SPDX-License-Identifier: Apache-2.0
// Tests the codec of Request and Reply: flags, keys, lengths, and truncation at every octet. Then
// feeds Startup with frames with every bit flipped, and with those of the kernel's siw
// (Linux 6.1.192, rdma-core 44): captured between two siw peers that ran rping and rdma_client,
// with and without CRC, in peer-to-peer mode, and in revision 1. No frame of siw carries ULP
// private data.
#include "iwarp/mpa/startup_frame.hpp"

#include <fsm_snapshot.hpp>

#include "iwarp/mpa/faults.hpp"
#include "iwarp/mpa/startup_fsm.hpp"
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
    const auto result =
        decode_startup_frame(FrameKind::kRequest, bytes::View(whole).first(n)).value();
    REQUIRE(std::holds_alternative<NeedOctets>(result));
    CHECK(std::get<NeedOctets>(result).total == (n < 20 ? 20 : whole.size()));
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

/// Returns an end that waits for a Request or a Reply, as `kind` says. It supports RFC 7306, and as
/// initiator it offers every RTR kind.
Startup receiver_of(FrameKind kind) {
  const StartupOptions options{.rtr = Rtr::kWrite, .extensions = true};
  return kind == FrameKind::kRequest ? listening(options) : requested(options);
}

/// Returns the expected state after one bit of worked frame A is flipped.
StartupState expected_of_request(std::size_t bit) {
  const auto octet = bit / 8;
  const auto mask = 1U << (bit % 8);
  if (octet < 16) return StartupState::kFailed;  // The key is wrong.
  // M, C, R, S and Res are valid with any value, although each value changes the meaning.
  if (octet == 16) return StartupState::kAwaitDecision;
  // The revision becomes 0, 3, 6 or more, which is not supported.
  if (octet == 17) return StartupState::kFailed;
  if (octet == 18 && mask > 2) return StartupState::kFailed;  // PD_Length is at least 1032.
  if (octet == 18)
    // PD_Length is 520 or 264. With 264, the end waits for more octets.
    return mask == 2 ? StartupState::kFailed : StartupState::kAwaitRequest;
  // PD_Length is 0, which leaves no room for the enhanced word.
  if (octet == 19 && mask == 8) return StartupState::kFailed;
  // PD_Length exceeds the frame: the end waits for more octets.
  if (octet == 19) return StartupState::kAwaitRequest;
  // The enhanced word and the private data are valid with any value.
  return StartupState::kAwaitDecision;
}

/// Returns the expected state after one bit of worked frame B is flipped.
StartupState expected_of_reply(std::size_t bit) {
  const auto octet = bit / 8;
  const auto mask = 1U << (bit % 8);
  if (octet < 16 || octet == 17) return StartupState::kFailed;
  // Without the S flag, the Reply is not enhanced.
  if (octet == 16 && mask == 0x10) return StartupState::kFailed;
  if (octet == 16 && mask == 0x20) return StartupState::kRejected;
  if (octet == 16) return StartupState::kFullOperation;
  if (octet == 18)
    return mask > 2    ? StartupState::kFailed
           : mask == 2 ? StartupState::kFailed
                       : StartupState::kAwaitReply;
  if (octet == 19) return mask == 4 ? StartupState::kFailed : StartupState::kAwaitReply;
  return StartupState::kFullOperation;
}

TEST_CASE(
    "a frame with any one bit flipped is tolerated or refused, as the rules require [MPA-66, "
    "MPA-68, MPA-74, MPA-77, MPA-79, MPA-90, EMPA-51]") {
  for (const auto kind : {FrameKind::kRequest, FrameKind::kReply}) {
    const auto expected = kind == FrameKind::kRequest ? expected_of_request : expected_of_reply;
    const auto good = hex(kind == FrameKind::kRequest ? kFrameA : kFrameB);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      CAPTURE(bit);
      auto damaged = good;
      damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      auto end = receiver_of(kind);
      CHECK(end.receive(damaged, kStart) == damaged.size());
      CHECK(end.state() == expected(bit));
      if (end.state() == StartupState::kFailed) check_failed(end, kBadStartupFrame);
      if (end.state() == StartupState::kAwaitDecision) {
        REQUIRE(end.accept({}, 4, 4));
        CHECK(decoded(FrameKind::kReply, end.transmit()).revision == 2);
      }
      if (end.state() == StartupState::kFullOperation && end.failure()) {
        const auto& fault = end.failure()->fault;
        CHECK((fault == kInsufficientIrd || fault == kNoMatchingRtr));
        CHECK(end.failure()->send_terminate);
      }
    }
  }
}

struct Capture {
  const char* request;  ///< hex digits of the Request after its key
  const char* reply;
  bool crc;
  bool enhanced;
  bool peer_to_peer;
  std::uint16_t reads;  ///< IRD and ORD at both ends
};

constexpr std::array kCaptures{
    Capture{"10020004 00010001", "10020004 00010001", false, true, false, 1},    // rping
    Capture{"50020004 00800080", "50020004 00800080", true, true, false, 0x80},  // rdma_client
    Capture{"50020004 00040004", "50020004 00040004", true, true, false, 4},     // rping
    Capture{"50020004 8001c001", "50020004 80018001", true, true, true, 1},      // rping
    Capture{"40010000", "40010000", true, false, false, 4},                      // rping, mpa 1
};

/// Returns options with which Startup produces the same frames as siw.
StartupOptions like(const Capture& capture) {
  return {.revision = capture.enhanced ? std::uint8_t{2} : std::uint8_t{1},
          .crc = capture.crc,
          .rtr = capture.peer_to_peer ? Rtr::kWrite : Rtr::kNone,
          .rtr_supported = {.write = true, .read = true, .send = false},
          .ird = capture.reads,
          .ord = capture.reads};
}

TEST_CASE("our initiator sends the same Request as siw and accepts siw's Reply [MPA-92, EMPA-38]") {
  for (const auto& capture : kCaptures) {
    CAPTURE(capture.request);
    Startup end(Role::kInitiator, like(capture));
    REQUIRE(end.request({}, kStart));
    CHECK(text(drain(end)) == kRequestKey + capture.request);
    end.receive(hex(kReplyKey + capture.reply), kStart);
    CHECK(end.state() == StartupState::kFullOperation);
    CHECK_FALSE(end.failure());
    CHECK(end.negotiated().crc == capture.crc);
    CHECK(end.negotiated().rtr == (capture.peer_to_peer ? Rtr::kWrite : Rtr::kNone));
    CHECK(end.negotiated().ird == capture.reads);
    CHECK(end.negotiated().ord == capture.reads);
  }
}

TEST_CASE("our responder accepts siw's Request and sends the same Reply as siw [MPA-87, EMPA-45]") {
  for (const auto& capture : kCaptures) {
    CAPTURE(capture.request);
    auto options = like(capture);
    options.revision = 2;
    options.crc = false;                 // The Reply of siw repeats the C bit of the Request.
    options.rtr_supported.read = false;  // The Reply of siw offers only one RTR kind.
    auto end = listening(options);
    end.receive(hex(kRequestKey + capture.request), kStart);
    REQUIRE(end.state() == StartupState::kAwaitDecision);
    REQUIRE(end.accept({}, capture.reads, capture.reads));
    CHECK(text(drain(end)) == kReplyKey + capture.reply);
    CHECK(end.negotiated().crc == capture.crc);
    CHECK(end.negotiated().peer_to_peer == capture.peer_to_peer);
  }
}

TEST_CASE("the startup machine is the one in rfc-notes/fsm [MPA-81, MPA-83, MPA-89]") {
  iwarp::test::check_fsm("mpa_startup", kStartupEdges);
}

}  // namespace
}  // namespace iwarp::mpa::test
