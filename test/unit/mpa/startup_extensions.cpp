// SPDX-License-Identifier: Apache-2.0
// Tests how two ends learn that both support RFC 7306: the tag after the ULP's private data, the
// limits of the tag, and what a peer sees if it does not know the tag. Also tests how the offered
// IRD is rounded.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

const std::string kRequestTag = "52464320 37333036";  // "RFC 7306"
const std::string kReplyTag = "37333036 20746f6f";    // "7306 too"

StartupOptions with_extensions(std::uint8_t revision = 2) {
  StartupOptions options;
  options.revision = revision;
  options.extensions = true;
  return options;
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
void check_agreed(const Ends& ends, bytes::View data, bytes::View answer, bool extensions) {
  CHECK(text(ends.responder.peer_private_data()) == text(data));
  CHECK(text(ends.initiator.peer_private_data()) == text(answer));
  CHECK(ends.initiator.negotiated().extensions == extensions);
  CHECK(ends.responder.negotiated().extensions == extensions);
}

TEST_CASE("the tag follows the private data of Request and Reply [EXT-1, MPA-78]") {
  auto ends = asked(with_extensions(), with_extensions(), octets("HELO"));
  Startup again(Role::kInitiator, with_extensions());
  REQUIRE(again.request(octets("HELO"), kStart));
  CHECK(text(again.transmit()) == kRequestKey + "50020010 00100010 48454c4f " + kRequestTag);
  CHECK(ends.responder.peer_offer()->extensions);
  CHECK(text(ends.responder.peer_private_data()) == "48454c4f");
  REQUIRE(ends.responder.accept(octets("EHLO"), 16, 16));
  CHECK(text(ends.responder.transmit()) == kReplyKey + "50020010 00100010 45484c4f " + kReplyTag);
}

TEST_CASE("extensions are on exactly if both ends offer them [EXT-1]") {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
    for (const bool a_wants : {false, true}) {
      for (const bool b_wants : {false, true}) {
        CAPTURE(revision);
        CAPTURE(a_wants);
        CAPTURE(b_wants);
        auto a = with_extensions(revision);
        auto b = with_extensions(revision);
        a.extensions = a_wants;
        b.extensions = b_wants;
        for (const std::string_view data : {"", "to the responder", "RFC 730", "7306"}) {
          const auto ends = agreed(a, b, octets(data), octets("to the initiator"));
          check_agreed(ends, octets(data), octets("to the initiator"), a_wants && b_wants);
          CHECK(ends.responder.peer_offer()->extensions == a_wants);
          CHECK(ends.initiator.peer_offer()->extensions == (a_wants && b_wants));
        }
        check_agreed(agreed(a, b, {}, {}), {}, {}, a_wants && b_wants);
      }
    }
  }
}

TEST_CASE("by default MPA does not announce extensions") {
  Startup end(Role::kInitiator, {});
  REQUIRE(end.request(octets("HELO"), kStart));
  CHECK(text(end.transmit()) == kRequestKey + "50020008 00100010 48454c4f");
}

TEST_CASE(
    "the tag is added only if it, the enhanced word and the private data have at most 248 octets "
    "together") {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
    CAPTURE(revision);
    const auto options = with_extensions(revision);
    const std::size_t most = revision == 1 ? 240 : 236;
    const Octets fits(most, std::byte{7});
    const Octets too_long(most + 1, std::byte{7});
    Startup sender(Role::kInitiator, options);
    REQUIRE(sender.request(fits, kStart));
    CHECK(sender.transmit().size() == startup_frame_size(kMaxTaggedPrivateData));
    check_agreed(agreed(options, options, fits, fits), fits, fits, true);
    check_agreed(agreed(options, options, too_long, fits), too_long, fits, false);
    check_agreed(agreed(options, options, fits, too_long), fits, too_long, false);
  }
}

TEST_CASE(
    "the tag takes no space from the ULP: 508 octets of private data still fit [MPA-80, EMPA-10]") {
  const Octets most(508, std::byte{7});
  const auto options = with_extensions();
  check_agreed(agreed(options, options, most, most), most, most, false);
  Startup end(Role::kInitiator, options);
  CHECK_FALSE(end.request(Octets(509), kStart));
}

TEST_CASE(
    "a rejection carries no tag, and all of its private data belongs to the ULP [MPA-91, MPA-96]") {
  for (const std::string_view why : {"no", "", "not 7306 too"}) {
    auto ends = asked(with_extensions(), with_extensions(), octets("HELO"));
    REQUIRE(ends.responder.reject(octets(why)));
    ends.initiator.receive(drain(ends.responder), kStart);
    CHECK(ends.initiator.state() == StartupState::kRejected);
    CHECK(text(ends.initiator.peer_private_data()) == text(octets(why)));
    CHECK_FALSE(ends.initiator.negotiated().extensions);
    CHECK_FALSE(ends.responder.negotiated().extensions);
  }
}

TEST_CASE(
    "a peer that does not know the tag sees 8 more octets of private data, and its Reply has no "
    "tag") {
  // As responder, a peer that does not know the tag passes it to its ULP, as part of the private
  // data. The Reply of this peer is worked frame B.
  auto end = requested(with_extensions(), octets("HELO"));
  end.receive(hex(kFrameB), kStart);
  CHECK(end.state() == StartupState::kFullOperation);
  CHECK_FALSE(end.negotiated().extensions);
  CHECK_FALSE(end.peer_offer()->extensions);
  CHECK(end.peer_private_data().empty());
  // As initiator, a peer that does not know the tag sends worked frame A. The Reply to it has no
  // tag.
  auto responder = listening(with_extensions());
  responder.receive(hex(kFrameA), kStart);
  REQUIRE(responder.accept({}, 4, 4));
  CHECK(decoded(FrameKind::kReply, responder.transmit()).private_data.size() == kEnhancedWordSize);
  CHECK_FALSE(responder.negotiated().extensions);
}

TEST_CASE("a tag that this end did not request belongs to the ULP") {
  StartupOptions silent;
  auto end = requested(silent);
  end.receive(hex(kReplyKey + "5002000c 00100010 " + kReplyTag), kStart);
  CHECK(text(end.peer_private_data()) == text(octets("7306 too")));
  CHECK_FALSE(end.negotiated().extensions);
  // An initiator also treats such a tag as private data if it omitted the tag of its own Request,
  // because the private data of the Request was too long.
  auto long_one = requested(with_extensions(), Octets(237));
  long_one.receive(hex(kReplyKey + "5002000c 00100010 " + kReplyTag), kStart);
  CHECK(text(long_one.peer_private_data()) == text(octets("7306 too")));
  CHECK_FALSE(long_one.negotiated().extensions);
}

TEST_CASE("private data that ends in the tag arrives unchanged if both ends add a tag") {
  const auto data = octets("as in RFC 7306");
  const auto options = with_extensions();
  check_agreed(agreed(options, options, data, data), data, data, true);
}

TEST_CASE(
    "if the initiator adds no tag, private data that ends in the same octets is read as a tag") {
  // This is a known and accepted limitation: private data is not expected to end in these 8 octets
  // by chance.
  const auto data = octets("as in RFC 7306");
  const auto ends = agreed({}, with_extensions(), data, octets("yes"));
  CHECK(text(ends.responder.peer_private_data()) == text(octets("as in ")));
  CHECK(text(ends.initiator.peer_private_data()) == text(octets("yes7306 too")));
  CHECK_FALSE(ends.initiator.negotiated().extensions);
}

TEST_CASE("a responder's ULP that repeats the received private data does not agree to anything") {
  auto end = requested(with_extensions(), octets("HELO"));
  end.receive(hex(kReplyKey + "50020010 00100010 48454c4f " + kRequestTag), kStart);
  CHECK_FALSE(end.negotiated().extensions);
  CHECK(text(end.peer_private_data()) == text(octets("HELORFC 7306")));
}

TEST_CASE("a frame that contains only a tag, and one whose enhanced word looks like a part of it") {
  auto plain = listening(with_extensions(1));
  plain.receive(frame(FrameKind::kRequest, 0x40, 1, octets("RFC 7306")), kStart);
  CHECK(plain.peer_offer()->extensions);
  CHECK(plain.peer_private_data().empty());
  auto word = listening(with_extensions());
  word.receive(frame(FrameKind::kRequest, 0x50, 2, octets("RFC 7306")), kStart);
  // The octets "RFC " are the enhanced word here, not the beginning of a tag.
  CHECK_FALSE(word.peer_offer()->extensions);
  CHECK(text(word.peer_private_data()) == text(octets("7306")));
}

TEST_CASE("the tag is recognized however the two frames are split [MPA-64]") {
  const auto options = with_extensions();
  for (std::size_t cut = 0; cut < 40; ++cut) {
    Startup a(Role::kInitiator, options);
    auto b = listening(options);
    REQUIRE(a.request(octets("hi"), kStart));
    const auto request = drain(a);
    const auto first = std::min(cut, request.size());
    b.receive(bytes::View(request).first(first), kStart);
    b.receive(bytes::View(request).subspan(first), kStart);
    REQUIRE(b.accept(octets("ho"), 16, 16));
    const auto reply = drain(b);
    const auto second = std::min(cut, reply.size());
    a.receive(bytes::View(reply).first(second), kStart);
    a.receive(bytes::View(reply).subspan(second), kStart);
    check_agreed({a, b}, octets("hi"), octets("ho"), true);
  }
}

TEST_CASE("a description names the tag, and private data that some peers refuse") {
  Startup end(Role::kInitiator, with_extensions());
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
        "most 256 octets)");
}

TEST_CASE("an IRD is rounded down to a power of two if the options say so, an ORD never") {
  StartupOptions rounding;
  rounding.round_ird = true;
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
  StartupOptions rounding;
  rounding.round_ird = true;
  CHECK(answer(rounding, {.peer_to_peer = true, .ird = 4, .rtr_read = true, .ord = 4}, 0, 4).ird ==
        1);
  CHECK(answer({}, {.ird = 16, .ord = 16}, 5, 7).ird == 5);
}

}  // namespace
}  // namespace iwarp::mpa::test
