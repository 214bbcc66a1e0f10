// SPDX-License-Identifier: Apache-2.0
// Tests how two ends learn that both support RFC 7306, or RFC 7306 and Send with Immediate: the tag
// after the ULP's private data, its limits, and what a peer sees if it does not know the tag. Both
// tags have eight octets; the second one stands for both extensions. Also tests how the offered IRD
// is rounded.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

struct Tags {
  Extensions what;
  const char* request;
  const char* reply;
};
constexpr std::array kTags{Tags{Extensions::kRfc7306, "RFC 7306", "7306 too"},
                           Tags{Extensions::kSendImmediate, "7306 imm", "imm. too"}};

/// In ascending order: each value includes the extensions of the previous values.
constexpr std::array kAll{Extensions::kNone, Extensions::kRfc7306, Extensions::kSendImmediate,
                          Extensions::kAcknowledged};

StartupOptions speaking(Extensions what = Extensions::kRfc7306, std::uint8_t revision = 2) {
  return {.revision = revision,
          .extensions = what != Extensions::kNone,
          .send_immediate = spoken(what) == Extensions::kSendImmediate,
          .acknowledged = what == Extensions::kAcknowledged};
}

void check_speaks(const Startup& end, Extensions what) {
  CHECK(end.negotiated().extensions == (what != Extensions::kNone));
  CHECK(end.negotiated().send_immediate == (what == Extensions::kSendImmediate));
}

struct Ends {
  Startup initiator;
  Startup responder;
};

/// Returns both ends after the Request with `data` has arrived. The responder's ULP has not decided
/// yet.
Ends asked(const StartupOptions& a, const StartupOptions& b, bytes::View data) {
  Ends ends{Startup(Role::kInitiator, a), listening(b)};
  REQUIRE(ends.initiator.request(data, kStart));
  ends.responder.receive(drain(ends.initiator), kStart);
  REQUIRE(ends.responder.state() == StartupState::kAwaitDecision);
  return ends;
}

/// Returns both ends after the responder's ULP has also accepted the Request with `answer`.
Ends agreed(const StartupOptions& a, const StartupOptions& b, bytes::View data,
            bytes::View answer) {
  auto ends = asked(a, b, data);
  REQUIRE(ends.responder.accept(answer, 16, 16));
  ends.initiator.receive(drain(ends.responder), kStart);
  REQUIRE(ends.initiator.state() == StartupState::kFullOperation);
  return ends;
}

/// Checks that each ULP received exactly what the other ULP sent, and that both ends agree on the
/// extensions.
void check_agreed(const Ends& ends, bytes::View data, bytes::View answer,
                  Extensions what = Extensions::kRfc7306) {
  CHECK(text(ends.responder.peer_private_data()) == text(data));
  CHECK(text(ends.initiator.peer_private_data()) == text(answer));
  check_speaks(ends.initiator, what);
  check_speaks(ends.responder, what);
}

TEST_CASE("the tag follows the private data of Request and Reply [EXT-1, MPA-78]") {
  for (const auto& [what, request, reply] : kTags) {
    CAPTURE(request);
    Startup initiator(Role::kInitiator, speaking(what));
    REQUIRE(initiator.request(octets("HELO"), kStart));
    CHECK(text(initiator.transmit()) ==
          kRequestKey + "50020010 00100010 48454c4f " + text(octets(request)));
    auto responder = listening(speaking(what));
    responder.receive(drain(initiator), kStart);
    CHECK(responder.peer_offer()->extensions);
    CHECK(responder.peer_offer()->send_immediate == (what == Extensions::kSendImmediate));
    CHECK(text(responder.peer_private_data()) == "48454c4f");
    REQUIRE(responder.accept(octets("EHLO"), 16, 16));
    CHECK(text(responder.transmit()) ==
          kReplyKey + "50020010 00100010 45484c4f " + text(octets(reply)));
  }
}

TEST_CASE("the extensions that both ends announce are agreed on, and no ULP sees a tag [EXT-1]") {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
    for (const auto a_speaks : kAll) {
      for (const auto b_speaks : kAll) {
        INFO("revision ", revision, ", a ", static_cast<int>(a_speaks), ", b ",
             static_cast<int>(b_speaks));
        const auto a = speaking(a_speaks, revision);
        const auto b = speaking(b_speaks, revision);
        const auto both = std::min(spoken(a_speaks), spoken(b_speaks));
        const bool matters = both == Extensions::kSendImmediate;
        for (const std::string_view data : {"", "to the responder", "RFC 730", "7306"}) {
          const auto ends = agreed(a, b, octets(data), octets("to the initiator"));
          check_agreed(ends, octets(data), octets("to the initiator"), both);
          CHECK(ends.responder.peer_offer()->extensions == a.extensions);
          CHECK(ends.initiator.peer_offer()->extensions == (both != Extensions::kNone));
          CHECK(ends.initiator.negotiated().peer_acknowledged == (matters && b.acknowledged));
          CHECK(ends.responder.negotiated().peer_acknowledged == (matters && a.acknowledged));
        }
        check_agreed(agreed(a, b, {}, {}), {}, {}, both);
      }
    }
  }
}

TEST_CASE("by default MPA announces no extensions, and Send with Immediate only with RFC 7306") {
  const StartupOptions alone{.send_immediate = true};
  for (const auto& options : {StartupOptions{}, alone}) {
    Startup end(Role::kInitiator, options);
    REQUIRE(end.request(octets("HELO"), kStart));
    CHECK(text(end.transmit()) == kRequestKey + "50020008 00100010 48454c4f");
  }
}

TEST_CASE(
    "the tag is added only if it, the enhanced word and the private data have at most 248 octets "
    "together, and takes no space from the ULP [MPA-80, EMPA-10]") {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
    CAPTURE(revision);
    const auto options = speaking(Extensions::kRfc7306, revision);
    const std::size_t most = revision == 1 ? 240 : 236;
    const Octets fits(most, std::byte{7});
    const Octets too_long(most + 1, std::byte{7});
    const Octets largest(revision == 1 ? 512 : 508, std::byte{7});
    Startup sender(Role::kInitiator, options);
    REQUIRE(sender.request(fits, kStart));
    CHECK(sender.transmit().size() == startup_frame_size(kMaxTaggedPrivateData));
    check_agreed(agreed(options, options, fits, fits), fits, fits);
    check_agreed(agreed(options, options, too_long, fits), too_long, fits, Extensions::kNone);
    check_agreed(agreed(options, options, fits, too_long), fits, too_long, Extensions::kNone);
    check_agreed(agreed(options, options, largest, largest), largest, largest, Extensions::kNone);
  }
}

TEST_CASE("a rejection carries no tag, and all its private data is the ULP's [MPA-91, MPA-96]") {
  for (const auto& [what, request, reply] : kTags) {
    for (const std::string& why : {std::string("no"), std::string(), std::string("not ") + reply}) {
      CAPTURE(why);
      auto ends = asked(speaking(what), speaking(what), octets("HELO"));
      REQUIRE(ends.responder.reject(octets(why)));
      ends.initiator.receive(drain(ends.responder), kStart);
      CHECK(ends.initiator.state() == StartupState::kRejected);
      CHECK(text(ends.initiator.peer_private_data()) == text(octets(why)));
      check_speaks(ends.initiator, Extensions::kNone);
      check_speaks(ends.responder, Extensions::kNone);
    }
  }
}

TEST_CASE("a peer without the tag sees 8 more octets of private data, and its Reply has no tag") {
  for (const auto& tags : kTags) {
    CAPTURE(tags.request);
    // As responder, a peer that does not know the tag passes it to its ULP, as part of the private
    // data. The Reply of this peer is worked frame B.
    auto end = requested(speaking(tags.what), octets("HELO"));
    end.receive(hex(kFrameB), kStart);
    CHECK(end.state() == StartupState::kFullOperation);
    check_speaks(end, Extensions::kNone);
    CHECK_FALSE(end.peer_offer()->extensions);
    CHECK(end.peer_private_data().empty());
    // As initiator, a peer that does not know the tag sends worked frame A. The Reply to it has no
    // tag.
    auto responder = listening(speaking(tags.what));
    responder.receive(hex(kFrameA), kStart);
    REQUIRE(responder.accept({}, 4, 4));
    const auto reply = decoded(FrameKind::kReply, responder.transmit());
    CHECK(reply.private_data.size() == kEnhancedWordSize);
    check_speaks(responder, Extensions::kNone);
  }
}

TEST_CASE("a tag that does not answer that of the Request is the ULP's and agrees to nothing") {
  struct Row {
    const char* what;
    Extensions asked;
    std::string data;
    std::string_view answer;
  };
  const Row rows[] = {
      {"without a tag in the Request", Extensions::kNone, "", "7306 too"},
      // The private data of this Request was too long for a tag.
      {"with a Request of 237 octets", Extensions::kRfc7306, std::string(237, ' '), "7306 too"},
      {"that announces more than the Request did", Extensions::kRfc7306, "", "imm. too"},
      {"that repeats the tag of the Request", Extensions::kSendImmediate, "", "7306 imm"},
      {"of a ULP that repeats what it received", Extensions::kRfc7306, "HELO", "HELORFC 7306"}};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    auto end = requested(speaking(row.asked), octets(row.data));
    auto reply = hex("00100010");
    const auto answer = octets(row.answer);
    reply.insert(reply.end(), answer.begin(), answer.end());
    end.receive(frame(FrameKind::kReply, 0x50, 2, reply), kStart);
    CHECK(text(end.peer_private_data()) == text(answer));
    check_speaks(end, Extensions::kNone);
  }
}

TEST_CASE("private data that ends in the tag arrives unchanged if both ends add a tag") {
  const auto data = octets("as in RFC 7306");
  const auto options = speaking();
  check_agreed(agreed(options, options, data, data), data, data);
}

TEST_CASE("without a tag, private data that ends in its octets is read as one") {
  // This is a known and accepted limitation: private data is not expected to end in these 8 octets
  // by chance.
  const auto data = octets("as in RFC 7306");
  const auto ends = agreed({}, speaking(), data, octets("yes"));
  CHECK(text(ends.responder.peer_private_data()) == text(octets("as in ")));
  CHECK(text(ends.initiator.peer_private_data()) == text(octets("yes7306 too")));
  CHECK_FALSE(ends.initiator.negotiated().extensions);
}

TEST_CASE("a frame that contains only a tag, and one whose enhanced word looks like a part of it") {
  auto plain = listening(speaking(Extensions::kRfc7306, 1));
  plain.receive(frame(FrameKind::kRequest, 0x40, 1, octets("RFC 7306")), kStart);
  CHECK(plain.peer_offer()->extensions);
  CHECK(plain.peer_private_data().empty());
  auto word = listening(speaking());
  word.receive(frame(FrameKind::kRequest, 0x50, 2, octets("RFC 7306")), kStart);
  // The octets "RFC " are the enhanced word here, not the beginning of a tag.
  CHECK_FALSE(word.peer_offer()->extensions);
  CHECK(text(word.peer_private_data()) == text(octets("7306")));
}

TEST_CASE("a description names the tag, and private data that some peers refuse") {
  Startup end(Role::kInitiator, speaking());
  REQUIRE(end.request(octets("HELO"), kStart));
  CHECK(describe_startup_frame(end.transmit()) ==
        "MPA Request rev 2, M=false C=true R=false S=true, PD_Length 16, client-server, IRD 16, "
        "ORD 16, "
        "RFC 7306");
  const auto described = [](std::size_t size) {
    return describe_startup_frame(frame(FrameKind::kRequest, 0x40, 1, Octets(size)));
  };
  CHECK(described(256) == "MPA Request rev 1, M=false C=true R=false S=false, PD_Length 256");
  CHECK(described(257) ==
        "MPA Request rev 1, M=false C=true R=false S=false, PD_Length 257 (some peers accept at "
        "most 256 octets of private data)");
}

TEST_CASE("the meaning of a frame's tag is described in words") {
  const auto said = [](FrameKind kind, std::string_view data) {
    return describe_startup_frame(frame(kind, 0x40, 1, octets(data)));
  };
  CHECK(said(FrameKind::kRequest, "7306 imm").ends_with(", RFC 7306, Send with Immediate"));
  CHECK(said(FrameKind::kReply, "imm. too").ends_with(", RFC 7306, Send with Immediate"));
  CHECK(said(FrameKind::kReply, "ack. too").ends_with("Immediate, acknowledged completions"));
  CHECK(said(FrameKind::kReply, "7306 too").ends_with(", RFC 7306"));
  CHECK(said(FrameKind::kReply, "7306 imm").ends_with("PD_Length 8"));
}

TEST_CASE("an IRD is rounded down to a power of two if the options say so, an ORD never") {
  const StartupOptions rounding{.round_ird = true};
  for (const auto& [ird, said] : {std::pair<std::uint16_t, std::uint16_t>{0, 0},
                                  {1, 1},
                                  {2, 2},
                                  {3, 2},
                                  {16, 16},
                                  {31, 16},
                                  {0xFFFF, 8192}}) {
    CAPTURE(ird);
    auto options = rounding;
    options.ird = ird;
    options.ord = 7;
    Startup end(Role::kInitiator, options);
    REQUIRE(end.request({}, kStart));
    const auto request = drain(end);
    CHECK(word_of(decoded(FrameKind::kRequest, request)).ird == said);
    CHECK(word_of(decoded(FrameKind::kRequest, request)).ord == 7);
    end.receive(enhanced_frame(FrameKind::kReply, {.ird = 16, .ord = 0}), kStart);
    CHECK(end.negotiated().ird == said);
    const auto word = answer(rounding, {.ird = 16, .ord = 16}, ird, 7);
    CHECK(word.ird == said);
    CHECK(word.ord == 7);
  }
}

TEST_CASE("rounding keeps the one Read that an RTR needs, and is off by default [EMPA-19]") {
  const StartupOptions rounding{.round_ird = true};
  CHECK(answer(rounding, {.peer_to_peer = true, .ird = 4, .rtr_read = true, .ord = 4}, 0, 4).ird ==
        1);
  CHECK(answer({}, {.ird = 16, .ord = 16}, 5, 7).ird == 5);
}

}  // namespace
}  // namespace iwarp::mpa::test
