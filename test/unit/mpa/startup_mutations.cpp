// SPDX-License-Identifier: Apache-2.0
// Feeds frames with every bit flipped. The fuzz target `startup` splits frames at any octet, and
// cases of `iwarp conform` truncate them.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

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

}  // namespace
}  // namespace iwarp::mpa::test
