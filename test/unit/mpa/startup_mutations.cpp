// SPDX-License-Identifier: Apache-2.0
// Feeds every frame split in two at every octet, truncated at every octet, and with every bit
// flipped.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

struct Vector {
  FrameKind kind;
  Octets octets;
};

std::vector<Vector> vectors() {
  return {
      {FrameKind::kRequest, hex(kFrameA)},
      {FrameKind::kReply, hex(kFrameB)},
      {FrameKind::kReply, hex(kReplyKey + "70020006 80048004 6e6f")},
      {FrameKind::kRequest, frame(FrameKind::kRequest, 0xC0, 1, octets("plain"))},
      {FrameKind::kReply, frame(FrameKind::kReply, 0x60, 1, Octets(512))},
      {FrameKind::kRequest, frame(FrameKind::kRequest, 0x50, 2, Octets(512))},
      {FrameKind::kRequest, frame(FrameKind::kRequest, 0x00, 1)},
      {FrameKind::kRequest, frame(FrameKind::kRequest, 0x40, 1, octets("hiRFC 7306"))},
      {FrameKind::kReply, frame(FrameKind::kReply, 0x50, 2, octets("\x80\x04\x80\x04ho7306 too"))},
  };
}

/// Returns an end that waits for a Request or a Reply, as `kind` says. It supports RFC 7306, and as
/// initiator it offers every RTR kind.
Startup receiver_of(FrameKind kind) {
  const StartupOptions options{.rtr = Rtr::kWrite, .extensions = true};
  return kind == FrameKind::kRequest ? listening(options) : requested(options);
}

bool waiting(const Startup& end) {
  return end.state() == StartupState::kAwaitRequest || end.state() == StartupState::kAwaitReply;
}

TEST_CASE(
    "a frame that is split anywhere has the same meaning as in one piece [MPA-56, MPA-64, "
    "MPA-100]") {
  for (const auto& vector : vectors()) {
    auto whole = receiver_of(vector.kind);
    CHECK(whole.receive(vector.octets, kStart) == vector.octets.size());
    REQUIRE_FALSE(waiting(whole));
    for (std::size_t cut = 0; cut <= vector.octets.size(); ++cut) {
      CAPTURE(cut);
      const auto all = bytes::View(vector.octets);
      auto end = receiver_of(vector.kind);
      CHECK(end.receive(all.first(cut), kStart) == cut);
      if (cut < all.size()) CHECK(waiting(end));
      CHECK(end.receive(all.subspan(cut), kStart) == all.size() - cut);
      CHECK(end.state() == whole.state());
      CHECK(text(end.peer_private_data()) == text(whole.peer_private_data()));
    }
  }
}

TEST_CASE(
    "if the rest of a frame never arrives, because the stream closes or time passes, the result is "
    "kTcpLost [MPA-99, MPA-102, MPA-108]") {
  for (const auto& vector : vectors()) {
    for (std::size_t n = 0; n < vector.octets.size(); ++n) {
      CAPTURE(n);
      auto end = receiver_of(vector.kind);
      end.receive(bytes::View(vector.octets).first(n), kStart);
      REQUIRE(waiting(end));
      auto late = end;
      end.closed(kStart);
      check_failed(end, kTcpLost);
      CHECK_FALSE(end.failure()->timed_out);
      CHECK(end.failure()->retry_plain == (vector.kind == FrameKind::kReply && n == 0));
      late.handle_timeout(kStart + 10s);
      check_failed(late, kTcpLost);
      CHECK(late.failure()->timed_out);
    }
  }
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

}  // namespace
}  // namespace iwarp::mpa::test
