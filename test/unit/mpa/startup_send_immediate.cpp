// SPDX-License-Identifier: Apache-2.0
// Tests how two ends learn that both support Send with Immediate: each sends another tag of the
// same length instead of the tag of RFC 7306. That tag stands for both extensions.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

const std::string kImmRequestTag = "37333036 20696d6d";  // "7306 imm"
const std::string kImmReplyTag = "696d6d2e 20746f6f";    // "imm. too"

/// In ascending order: each value includes the extensions of the previous values.
constexpr std::array kAll{Extensions::kNone, Extensions::kRfc7306, Extensions::kSendImmediate,
                          Extensions::kAcknowledged};

StartupOptions speaking(Extensions what) {
  StartupOptions options;
  options.extensions = what != Extensions::kNone;
  options.send_immediate = spoken(what) == Extensions::kSendImmediate;
  options.acknowledged = what == Extensions::kAcknowledged;
  return options;
}

void check_speaks(const Startup& end, Extensions what) {
  CHECK(end.negotiated().extensions == (what != Extensions::kNone));
  CHECK(end.negotiated().send_immediate == (what == Extensions::kSendImmediate));
}

TEST_CASE("Request and Reply announce RFC 7306 and Send with Immediate in eight octets [EXT-1]") {
  const auto options = speaking(Extensions::kSendImmediate);
  auto initiator = Startup(Role::kInitiator, options);
  REQUIRE(initiator.request(octets("HELO"), kStart));
  CHECK(text(initiator.transmit()) == kRequestKey + "50020010 00100010 48454c4f " + kImmRequestTag);
  auto responder = listening(options);
  responder.receive(drain(initiator), kStart);
  CHECK(responder.peer_offer()->extensions);
  CHECK(responder.peer_offer()->send_immediate);
  REQUIRE(responder.accept(octets("EHLO"), 16, 16));
  CHECK(text(responder.transmit()) == kReplyKey + "50020010 00100010 45484c4f " + kImmReplyTag);
}

TEST_CASE("the extensions that both ends announce are agreed on, and no ULP sees a tag [EXT-1]") {
  for (const auto a_speaks : kAll) {
    for (const auto b_speaks : kAll) {
      CAPTURE(static_cast<int>(a_speaks));
      CAPTURE(static_cast<int>(b_speaks));
      Startup initiator(Role::kInitiator, speaking(a_speaks));
      auto responder = listening(speaking(b_speaks));
      REQUIRE(initiator.request(octets("ask"), kStart));
      responder.receive(drain(initiator), kStart);
      CHECK(text(responder.peer_private_data()) == text(octets("ask")));
      REQUIRE(responder.accept(octets("answer"), 16, 16));
      initiator.receive(drain(responder), kStart);
      CHECK(text(initiator.peer_private_data()) == text(octets("answer")));
      const auto both = std::min(spoken(a_speaks), spoken(b_speaks));
      check_speaks(initiator, both);
      check_speaks(responder, both);
      const bool matters = both == Extensions::kSendImmediate;
      CHECK(initiator.negotiated().peer_acknowledged ==
            (matters && b_speaks == Extensions::kAcknowledged));
      CHECK(responder.negotiated().peer_acknowledged ==
            (matters && a_speaks == Extensions::kAcknowledged));
    }
  }
}

TEST_CASE("Send with Immediate without RFC 7306 is not offered") {
  StartupOptions options;
  options.send_immediate = true;
  Startup end(Role::kInitiator, options);
  REQUIRE(end.request(octets("HELO"), kStart));
  CHECK(text(end.transmit()) == kRequestKey + "50020008 00100010 48454c4f");
}

TEST_CASE(
    "a Reply that announces more than the Request did, or repeats its tag, agrees to nothing") {
  auto modest = requested(speaking(Extensions::kRfc7306));
  modest.receive(hex(kReplyKey + "5002000c 00100010 " + kImmReplyTag), kStart);
  CHECK(text(modest.peer_private_data()) == text(octets("imm. too")));
  check_speaks(modest, Extensions::kNone);
  auto echoed = requested(speaking(Extensions::kSendImmediate));
  echoed.receive(hex(kReplyKey + "5002000c 00100010 " + kImmRequestTag), kStart);
  CHECK(text(echoed.peer_private_data()) == text(octets("7306 imm")));
  check_speaks(echoed, Extensions::kNone);
}

TEST_CASE("a foreign peer sees the eight octets as private data and agrees to nothing") {
  auto end = requested(speaking(Extensions::kSendImmediate), octets("HELO"));
  end.receive(hex(kFrameB), kStart);
  CHECK(end.state() == StartupState::kFullOperation);
  check_speaks(end, Extensions::kNone);
  auto responder = listening(speaking(Extensions::kSendImmediate));
  responder.receive(hex(kFrameA), kStart);
  REQUIRE(responder.accept({}, 4, 4));
  CHECK(decoded(FrameKind::kReply, responder.transmit()).private_data.size() == kEnhancedWordSize);
  check_speaks(responder, Extensions::kNone);
}

TEST_CASE(
    "a rejection carries neither tag, and octets that look like one belong to the ULP [MPA-91]") {
  const auto options = speaking(Extensions::kSendImmediate);
  Startup initiator(Role::kInitiator, options);
  auto responder = listening(options);
  REQUIRE(initiator.request({}, kStart));
  responder.receive(drain(initiator), kStart);
  REQUIRE(responder.reject(octets("not imm. too")));
  initiator.receive(drain(responder), kStart);
  CHECK(text(initiator.peer_private_data()) == text(octets("not imm. too")));
  check_speaks(initiator, Extensions::kNone);
}

TEST_CASE("the meaning of a frame's tag is described in words") {
  const auto said = [](FrameKind kind, std::string_view data) {
    return describe_startup_frame(frame(kind, 0x40, 1, octets(data)));
  };
  CHECK(said(FrameKind::kRequest, "7306 imm").ends_with(", RFC 7306 and Send with Immediate"));
  CHECK(said(FrameKind::kReply, "imm. too").ends_with(", RFC 7306 and Send with Immediate"));
  CHECK(said(FrameKind::kReply, "ack. too").ends_with("Immediate, acknowledged completions"));
  CHECK(said(FrameKind::kReply, "7306 too").ends_with(", RFC 7306"));
  CHECK(said(FrameKind::kReply, "7306 imm").ends_with("PD_Length 8"));
}

}  // namespace
}  // namespace iwarp::mpa::test
