// SPDX-License-Identifier: Apache-2.0
// Tests how a responder answers the enhanced word of a Request: IRD, ORD, and RTR kinds (RFC 6581
// section 9).
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

TEST_CASE(
    "the responder's ORD is reduced to the initiator's IRD; 0x3FFF leaves the other value "
    "unchanged "
    "and is repeated, 0x3FFE is a value [EMPA-17, EMPA-18, EMPA-26, EMPA-28]") {
  struct Row {
    EnhancedWord request;
    std::uint16_t ird;
    std::uint16_t ord;
    EnhancedWord reply;
    std::uint16_t negotiated_ord;
  };
  const Row rows[] = {
      {{.ird = 4, .ord = 4}, 9, 3, {.ird = 9, .ord = 3}, 3},
      {{.ird = 4, .ord = 4}, 9, 4, {.ird = 9, .ord = 4}, 4},
      {{.ird = 4, .ord = 4}, 9, 5, {.ird = 9, .ord = 4}, 4},
      {{.ird = 4, .ord = kNoNegotiation}, 9, 9, {.ird = kNoNegotiation, .ord = 4}, 4},
      {{.ird = kNoNegotiation, .ord = 4}, 9, 9, {.ird = 9, .ord = kNoNegotiation}, 9},
      {{.ird = 0x3FFE, .ord = 1}, 9, 0x3FFE, {.ird = 9, .ord = 0x3FFE}, 0x3FFE},
      {{.ird = 0x3FFF, .ord = 1}, 9, 0x3FFE, {.ird = 9, .ord = 0x3FFF}, 0x3FFE},
  };
  for (const Row& row : rows) {
    CAPTURE(row.request.ird);
    CAPTURE(row.ord);
    auto end = after({}, enhanced_frame(FrameKind::kRequest, row.request));
    REQUIRE(end.accept({}, row.ird, row.ord));
    const auto reply = drain(end);
    CHECK(word_of(decoded(FrameKind::kReply, reply)) == row.reply);
    CHECK(end.negotiated().ird == row.ird);
    CHECK(end.negotiated().ord == row.negotiated_ord);
  }
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

TEST_CASE(
    "the Reply offers the RTR kinds that both support, or the responder's kinds if there is none "
    "[EMPA-32, EMPA-33, EMPA-34, EMPA-35, EMPA-37]") {
  for (unsigned theirs = 0; theirs < 8; ++theirs) {
    for (unsigned ours = 0; ours < 8; ++ours) {
      CAPTURE(theirs);
      CAPTURE(ours);
      const StartupOptions options{
          .rtr_supported = {(ours & 1) != 0, (ours & 2) != 0, (ours & 4) != 0}};
      const auto word = answer(options,
                               {.peer_to_peer = true,
                                .rtr_send = (theirs & 4) != 0,
                                .ird = 4,
                                .rtr_write = (theirs & 1) != 0,
                                .rtr_read = (theirs & 2) != 0,
                                .ord = 4},
                               4, 4);
      // A responder can always receive a zero-length Write as RTR.
      const unsigned can = ours == 0 ? 1 : ours;
      const unsigned expected = (can & theirs) != 0 ? can & theirs : can;
      CHECK(word.peer_to_peer);
      CHECK(word.rtr_write == ((expected & 1) != 0));
      CHECK(word.rtr_read == ((expected & 2) != 0));
      CHECK(word.rtr_send == ((expected & 4) != 0));
    }
  }
}

}  // namespace
}  // namespace iwarp::mpa::test
