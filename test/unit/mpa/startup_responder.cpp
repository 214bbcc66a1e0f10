// SPDX-License-Identifier: Apache-2.0
// Tests the responder's rules of RFC 5044 section 7.1 and RFC 6581, one by one. The cases
// mpa/request, mpa/enhanced and mpa/depth of `iwarp conform` test the others.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

TEST_CASE("frame A is decoded, and B is its Reply [MPA-67, MPA-87, EMPA-15, EMPA-45]") {
  auto end = after({.rtr_supported = {.write = true, .read = false, .send = false}}, hex(kFrameA));
  REQUIRE(end.peer_offer());
  CHECK(end.peer_offer()->enhanced);
  CHECK(end.peer_offer()->peer_to_peer);
  CHECK(end.peer_offer()->rtr == RtrSet{.write = true, .read = true, .send = false});
  CHECK(end.peer_offer()->ird == 4);  // [EMPA-16]
  CHECK(end.peer_offer()->ord == 4);
  // The private data does not include the enhanced word.
  CHECK(text(end.peer_private_data()) == "48454c4f");
  REQUIRE(end.accept({}, 4, 4));
  CHECK(text(end.transmit()) == kFrameB);
  CHECK(end.state() == StartupState::kFullOperation);
  CHECK(end.negotiated().peer_to_peer);
  CHECK(end.negotiated().rtr == Rtr::kNone);
  CHECK(end.negotiated().revision == 2);  // [MPA-11]
}

TEST_CASE(
    "a Request of Rev 1, whatever its S flag is, or of Rev 2 without S is plain, and is answered "
    "with a plain Reply of its Rev [EMPA-3, EMPA-4, EMPA-6, EMPA-46, EMPA-48, MPA-74]") {
  struct Row {
    std::uint8_t flags;
    std::uint8_t revision;
    std::uint8_t own_revision;
    const char* reply;
  };
  for (const Row& row : {Row{0x40, 1, 1, "40010004"}, Row{0x40, 1, 2, "40010004"},
                         Row{0x50, 1, 2, "40010004"}, Row{0x40, 2, 2, "40020004"}}) {
    INFO("flags ", row.flags, ", revision ", row.revision);
    const StartupOptions options{.revision = row.own_revision};
    // The first four octets are the ULP's data, not an enhanced word.
    const auto data = hex("80048004 70696e67");
    auto end = after(options, frame(FrameKind::kRequest, row.flags, row.revision, data));
    REQUIRE(end.state() == StartupState::kAwaitDecision);
    CHECK_FALSE(end.peer_offer()->enhanced);
    CHECK(end.peer_offer()->ird == 0);
    CHECK(text(end.peer_private_data()) == text(data));
    REQUIRE(end.accept(octets("pong"), 7, 9));
    CHECK(text(end.transmit()) == kReplyKey + row.reply + " 706f6e67");
    CHECK(end.negotiated().revision == row.revision);
    CHECK_FALSE(end.negotiated().enhanced);
    // A plain Request negotiates nothing, so each end uses its own IRD and ORD.
    CHECK(end.negotiated().ird == 7);
    CHECK(end.negotiated().ord == 9);
  }
}

TEST_CASE("a responder of Rev 1 closes on Rev 2, and on S [EMPA-49]") {
  const StartupOptions options{.revision = 1};
  check_failed(after(options, hex(kFrameA)), kBadStartupFrame);
  check_failed(after(options, frame(FrameKind::kRequest, 0x40, 2)), kBadStartupFrame);
  check_failed(after(options, frame(FrameKind::kRequest, 0x50, 1, Octets(4))), kBadStartupFrame);
}

TEST_CASE("an enhanced rejection has the responder's enhanced word [EMPA-13, EMPA-25, EMPA-45]") {
  const StartupOptions options{
      .rtr_supported = {.write = false, .read = true, .send = true}, .ird = 3, .ord = 5};
  auto end = after(options, hex(kFrameA));
  REQUIRE(end.reject({}));
  const auto reply = drain(end);
  const auto sent = decoded(FrameKind::kReply, reply);
  CHECK(sent.rejected);
  CHECK(word_of(sent) == EnhancedWord{.peer_to_peer = true, .ird = 3, .rtr_read = true, .ord = 5});
}

TEST_CASE("a Request that asks for markers is rejected if they are not allowed [MPA-70, MPA-85]") {
  const StartupOptions options{.allow_markers = false};
  auto end = after(options, frame(FrameKind::kRequest, 0xC0, 1));
  CHECK(end.state() == StartupState::kRejected);
  CHECK(text(end.transmit()) == kReplyKey + "60010000");
  CHECK(after(options, frame(FrameKind::kRequest, 0x40, 1)).state() ==
        StartupState::kAwaitDecision);
}

TEST_CASE("an IRD below the responder's need is rejected with that need [EMPA-20, EMPA-21]") {
  const StartupOptions options{.min_ord = 8};
  auto end = after(options, enhanced_frame(FrameKind::kRequest, {.ird = 7, .ord = 4}));
  CHECK(end.state() == StartupState::kRejected);
  const auto reply = drain(end);
  CHECK(decoded(FrameKind::kReply, reply).rejected);
  CHECK(word_of(decoded(FrameKind::kReply, reply)).ord == 8);
  for (const std::uint16_t ird : {std::uint16_t{8}, kNoNegotiation}) {
    CHECK(after(options, enhanced_frame(FrameKind::kRequest, {.ird = ird, .ord = 4})).state() ==
          StartupState::kAwaitDecision);
  }
  CHECK(after(options, frame(FrameKind::kRequest, 0x40, 1)).state() ==
        StartupState::kAwaitDecision);
}

TEST_CASE("the whole startup has one deadline, even if octets come one by one [MPA-99, MPA-102]") {
  const StartupOptions options{.timeout = 5s};
  const auto request = hex(kFrameA);
  auto end = listening(options);
  REQUIRE(end.timeout() == kStart + 5s);
  for (std::size_t i = 0; i < 4; ++i) {
    end.receive(bytes::View(request).subspan(i, 1), kStart + i * 1s);
    CHECK(end.timeout() == kStart + 5s);
  }
  end.handle_timeout(kStart + 5s - 1ns);
  CHECK(end.state() == StartupState::kAwaitRequest);
  end.handle_timeout(kStart + 5s);
  check_failed(end, kTcpLost);
  CHECK(end.failure()->timed_out);
}

TEST_CASE("octets that arrive exactly at the deadline are too late [MPA-102]") {
  const auto request = hex(kFrameA);
  auto before = listening();
  before.receive(request, kStart + 10s - 1ns);
  CHECK(before.state() == StartupState::kAwaitDecision);
  auto at = listening();
  CHECK(at.receive(request, kStart + 10s) == request.size());
  check_failed(at, kTcpLost);
  CHECK(at.failure()->timed_out);
}

TEST_CASE("a ULP that never decides is subject to the same deadline [MPA-102]") {
  auto end = after({}, hex(kFrameA));
  REQUIRE(end.timeout() == kStart + 10s);
  end.handle_timeout(kStart + 10s);
  check_failed(end, kTcpLost);
  CHECK_FALSE(end.reject({}));
}

TEST_CASE("calls in the wrong state are refused and change nothing") {
  Startup idle(Role::kResponder, {});
  CHECK_FALSE(idle.request({}, kStart));
  CHECK_FALSE(idle.accept({}, 1, 1));
  CHECK_FALSE(idle.reject({}));
  CHECK(idle.receive(octets("x"), kStart) == 0);
  CHECK(idle.state() == StartupState::kIdle);
  auto end = after({}, hex(kFrameA));
  end.listen(kStart + 1s);
  CHECK(end.timeout() == kStart + 10s);
  REQUIRE(end.accept({}, 4, 4));
  CHECK_FALSE(end.accept({}, 4, 4));
  CHECK_FALSE(end.reject({}));
  end.transmitted(1000);  // Fewer than 1000 octets are queued.
  CHECK(end.transmit().empty());
}

TEST_CASE("a responder may send 0x3FFF instead of its IRD and ORD [EMPA-27, EMPA-29]") {
  const auto word = answer({.negotiate_ird = false, .negotiate_ord = false}, kClientServer, 9, 2);
  CHECK(word.ird == kNoNegotiation);
  CHECK(word.ord == kNoNegotiation);
}

TEST_CASE("values above 14 bits are reduced to the maximum, not truncated [EMPA-51]") {
  const auto word = answer({}, {.ird = 0x3FFE, .ord = 4}, 0xFFFF, 0xFFFF);
  CHECK(word.ird == 0x3FFE);
  CHECK(word.ord == 0x3FFE);
}

TEST_CASE("IRD 0 is raised to 1 for a Read RTR and only for that [EMPA-19]") {
  const EnhancedWord read{.peer_to_peer = true, .ird = 1, .rtr_read = true, .ord = 0};
  CHECK(answer({}, read, 0, 0).ird == 1);
  CHECK(answer({}, read, 5, 0).ird == 5);
  const EnhancedWord write{.peer_to_peer = true, .ird = 1, .rtr_write = true, .ord = 0};
  CHECK(answer({}, write, 0, 0).ird == 0);
  CHECK(answer({}, {.ird = 1, .rtr_read = true, .ord = 0}, 0, 0).ird == 0);
}

TEST_CASE("after startup has ended, events that end or begin one are ignored") {
  auto accepted = after({}, hex(kFrameA));
  REQUIRE(accepted.accept({}, 4, 4));
  auto rejected = after({}, hex(kFrameA));
  REQUIRE(rejected.reject({}));
  auto initiator = requested({.rtr = Rtr::kWrite});
  initiator.receive(hex(kFrameB), kStart);
  for (Startup* end : {&accepted, &rejected, &initiator}) {
    drain(*end);
    const auto state = end->state();
    CHECK(state == (end == &rejected ? StartupState::kRejected : StartupState::kFullOperation));
    const auto late = kStart + StartupOptions{}.timeout;
    CHECK_FALSE(end->timeout());
    end->handle_timeout(late);
    end->closed(late);
    end->listen(late);
    CHECK_FALSE(end->request({}, late));
    CHECK_FALSE(end->accept({}, 1, 1));
    CHECK_FALSE(end->reject({}));
    CHECK(end->state() == state);
    CHECK_FALSE(end->failure());
  }
}

}  // namespace
}  // namespace iwarp::mpa::test
