// SPDX-License-Identifier: Apache-2.0
// Tests the initiator's rules of RFC 5044 section 7.1 and RFC 6581, one by one.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

StartupOptions plain_options() { return {.revision = 1}; }

StartupOptions peer_to_peer(Rtr preferred, RtrSet supported = {}) {
  return {.rtr = preferred, .rtr_supported = supported, .ird = 4, .ord = 4};
}

/// Returns an initiator that received `reply` in one piece.
Startup answered(const StartupOptions& options, bytes::View reply) {
  auto end = requested(options);
  end.receive(reply, kStart);
  return end;
}

Startup answered(const StartupOptions& options, const EnhancedWord& word) {
  return answered(options, enhanced_frame(FrameKind::kReply, word));
}

EnhancedWord request_word(const StartupOptions& options) {
  Startup end(Role::kInitiator, options);
  REQUIRE(end.request({}, kStart));
  const auto sent = drain(end);
  return word_of(decoded(FrameKind::kRequest, sent));
}

TEST_CASE("an initiator sends frame A in pieces [MPA-81, MPA-82, EMPA-30, EMPA-31]") {
  Startup end(Role::kInitiator, peer_to_peer(Rtr::kWrite, {true, true, false}));
  CHECK(end.transmit().empty());
  REQUIRE(end.request(octets("HELO"), kStart));
  CHECK(text(end.transmit()) == kFrameA);
  CHECK(end.state() == StartupState::kAwaitReply);
  Octets sent;
  while (!end.transmit().empty()) {
    sent.push_back(end.transmit()[0]);
    end.transmitted(1);
  }
  CHECK(text(sent) == kFrameA);
}

TEST_CASE("after worked frame B, operation starts with a Write RTR [MPA-89, MPA-92, EMPA-38]") {
  const auto end = answered(peer_to_peer(Rtr::kWrite, {true, true, false}), hex(kFrameB));
  CHECK(end.state() == StartupState::kFullOperation);
  CHECK_FALSE(end.failure());
  CHECK_FALSE(end.timeout());
  CHECK(end.negotiated().enhanced);
  CHECK(end.negotiated().revision == 2);
  CHECK(end.negotiated().peer_to_peer);
  CHECK(end.negotiated().rtr == Rtr::kWrite);
  CHECK(end.negotiated().ird == 4);
  CHECK(end.negotiated().ord == 4);
  CHECK(end.peer_private_data().empty());
}

TEST_CASE("all supported RTR kinds and the preferred one are offered [EMPA-2, EMPA-30, EMPA-31]") {
  const auto word = request_word(peer_to_peer(Rtr::kSend, {false, true, false}));
  CHECK(word ==
        EnhancedWord{.peer_to_peer = true, .rtr_send = true, .ird = 4, .rtr_read = true, .ord = 4});
}

TEST_CASE("0x3FFF is sent on request only; IRD and ORD are reduced to 0x3FFE at most [EMPA-51]") {
  StartupOptions options{.ird = 0x3FFF, .ord = 0xFFFF};
  CHECK(request_word(options) == EnhancedWord{.ird = 0x3FFE, .ord = 0x3FFE});
  options.negotiate_ird = false;
  CHECK(request_word(options) == EnhancedWord{.ird = 0x3FFF, .ord = 0x3FFE});
  options.negotiate_ord = false;
  CHECK(request_word(options) == EnhancedWord{.ird = 0x3FFF, .ord = 0x3FFF});
}

TEST_CASE("the S flag in a Rev 1 Reply is a reserved bit [MPA-74]") {
  const auto end = answered(plain_options(), frame(FrameKind::kReply, 0x5F, 1, octets("ab")));
  CHECK(end.state() == StartupState::kFullOperation);
  CHECK_FALSE(end.negotiated().enhanced);
  CHECK(end.peer_private_data().size() == 2);
}

TEST_CASE("after a plain acceptance, a plain retry makes sense [EMPA-45, EMPA-50]") {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
    const auto end = answered({}, frame(FrameKind::kReply, 0x40, revision));
    check_failed(end, kBadStartupFrame);
    CHECK(end.failure()->retry_plain);
  }
}

TEST_CASE("a plain rejection of an enhanced Request is a rejection [MPA-91]") {
  const auto end = answered({}, frame(FrameKind::kReply, 0x60, 1, octets("no")));
  CHECK(end.state() == StartupState::kRejected);
  CHECK(text(end.peer_private_data()) == "6e6f");
}

TEST_CASE("a rejection returns private data, IRD and ORD; TCP stays open [MPA-91, EMPA-25]") {
  const auto reply = frame(FrameKind::kReply, 0x70, 2, hex("c0034005 6e6f"));
  auto end = requested(peer_to_peer(Rtr::kWrite));
  auto longer = reply;
  longer.push_back(std::byte{1});
  CHECK(end.receive(longer, kStart) == reply.size());
  CHECK(end.state() == StartupState::kRejected);
  CHECK_FALSE(end.failure());
  CHECK_FALSE(end.timeout());
  CHECK(text(end.peer_private_data()) == "6e6f");
  REQUIRE(end.peer_offer());
  CHECK(end.peer_offer()->ird == 3);
  CHECK(end.peer_offer()->ord == 5);
  CHECK(end.peer_offer()->rtr == RtrSet{.write = false, .read = true, .send = true});
}

TEST_CASE("an ORD above the initiator's maximum IRD is 2/0/06 [EMPA-14, EMPA-24, SEC-31]") {
  const StartupOptions options{.ird = 4, .max_ird = 8};
  CHECK_FALSE(answered(options, {.ird = 1, .ord = 8}).failure());
  for (const std::uint16_t ord : {std::uint16_t{9}, std::uint16_t{16000}, std::uint16_t{0x3FFE}}) {
    const auto end = answered(options, {.ird = 1, .ord = ord});
    CHECK(end.state() == StartupState::kFullOperation);
    REQUIRE(end.failure());
    CHECK(end.failure()->fault == kInsufficientIrd);
    CHECK(end.failure()->send_terminate);
    CHECK_FALSE(end.failure()->retry_plain);
    CHECK(end.negotiated().rtr == Rtr::kNone);
    CHECK(end.negotiated().crc);
    CHECK(end.peer_offer()->ord == ord);
  }
}

TEST_CASE("an ORD up to the requested IRD is accepted, whatever max_ird is [EMPA-22]") {
  const StartupOptions options{.ird = 32, .max_ird = 8};
  CHECK_FALSE(answered(options, {.ird = 1, .ord = 32}).failure());
  CHECK(answered(options, {.ird = 1, .ord = 33}).failure());
}

TEST_CASE(
    "the RTR is the preferred kind if both ends support it, else Write, Read, Send in this order; "
    "with none in common, Terminate 2/0/07 [EMPA-36, EMPA-38, EMPA-39]") {
  constexpr std::array kKinds{Rtr::kWrite, Rtr::kRead, Rtr::kSend};
  for (const Rtr preferred : kKinds) {
    for (unsigned ours = 0; ours < 8; ++ours) {
      for (unsigned theirs = 0; theirs < 8; ++theirs) {
        const auto preferred_bit = 1U << (static_cast<unsigned>(preferred) - 1);
        const auto both = (ours | preferred_bit) & theirs;
        INFO("ours ", ours, ", theirs ", theirs);
        const auto end =
            answered(peer_to_peer(preferred, {(ours & 1) != 0, (ours & 2) != 0, (ours & 4) != 0}),
                     {.peer_to_peer = true,
                      .rtr_send = (theirs & 4) != 0,
                      .ird = 4,
                      .rtr_write = (theirs & 1) != 0,
                      .rtr_read = (theirs & 2) != 0,
                      .ord = 4});
        CHECK(end.state() == StartupState::kFullOperation);
        if (both == 0) {
          REQUIRE(end.failure());
          CHECK(end.failure()->fault == kNoMatchingRtr);
          CHECK(end.failure()->send_terminate);
          CHECK(end.negotiated().rtr == Rtr::kNone);
          continue;
        }
        CHECK_FALSE(end.failure());
        const auto lowest = (both & 1) != 0 ? 0U : (both & 2) != 0 ? 1U : 2U;
        CHECK(end.negotiated().rtr ==
              ((both & preferred_bit) != 0 ? preferred : kKinds.at(lowest)));
      }
    }
  }
}

TEST_CASE("a Read RTR needs an ORD of 1 [EMPA-19, EMPA-38]") {
  auto options = peer_to_peer(Rtr::kRead);
  options.ord = 0;
  const auto end = answered(options, {.peer_to_peer = true, .ird = 1, .rtr_read = true, .ord = 0});
  CHECK(end.negotiated().rtr == Rtr::kRead);
  CHECK(end.negotiated().ord == 1);
}

TEST_CASE(
    "a plain retry makes sense after a close without an answer to an enhanced Request, and after "
    "no other close [EMPA-50, MPA-108]") {
  auto half_answered = requested({});
  half_answered.receive(octets("M"), kStart);
  Startup half_sent(Role::kInitiator, {});
  REQUIRE(half_sent.request({}, kStart));
  half_sent.transmitted(10);
  struct Row {
    const char* what;
    Startup end;
    bool retry_plain;
    bool unanswered;
  };
  for (auto& [what, end, retry_plain, unanswered] :
       {Row{"an enhanced Request", requested({}), true, true},
        Row{"a plain Request", requested(plain_options()), false, true},
        Row{"half a Reply", half_answered, false, false},
        Row{"half a Request", half_sent, false, true},
        Row{"nothing", Startup(Role::kInitiator, {}), false, false}}) {
    CAPTURE(what);
    auto closed = end;
    closed.closed(kStart);
    check_failed(closed, kTcpLost);
    CHECK(closed.failure()->retry_plain == retry_plain);
    CHECK(closed.failure()->unanswered == unanswered);
  }
}

TEST_CASE("a failure is final: later octets are discarded") {
  auto end = requested({});
  end.closed(kStart);
  CHECK(end.receive(hex(kFrameB), kStart) == 24);
  end.handle_timeout(kStart + 1h);
  check_failed(end, kTcpLost);
  CHECK_FALSE(end.failure()->timed_out);
  CHECK_FALSE(end.request({}, kStart));
}

TEST_CASE("calls that belong to the other role are refused") {
  Startup end(Role::kInitiator, {});
  end.listen(kStart);
  CHECK(end.state() == StartupState::kIdle);
  CHECK_FALSE(end.timeout());
  REQUIRE(end.request({}, kStart));
  CHECK_FALSE(end.request({}, kStart));
  CHECK_FALSE(end.accept({}, 1, 1));
  CHECK_FALSE(end.reject({}));
  CHECK(end.state() == StartupState::kAwaitReply);
}

}  // namespace
}  // namespace iwarp::mpa::test
