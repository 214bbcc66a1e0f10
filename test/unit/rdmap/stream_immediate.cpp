// SPDX-License-Identifier: Apache-2.0
// Tests Immediate Data from both ends (RFC 7306 section 6), and streams that did not negotiate RFC
// 7306.
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

struct Agreed : Bench {
  Agreed() : Bench({.extensions = true}) {
    for (std::size_t i = 0; i < 4; ++i) ulp.receives.push_back(ulp.memory(i * 16, 16));
  }
};

Octets immediate(std::uint32_t msn, std::size_t size, std::uint32_t invalidate = 0) {
  return segment(untagged_header(msn, Opcode::kImmediate, invalidate), pattern(size, 1));
}

TEST_CASE("an Immediate is sent as frame I [EXT-3, EXT-49, EXT-52]") {
  Agreed bench;
  bench.ulp.requests.push_back(
      {.opcode = Opcode::kImmediateSolicited, .immediate = 0x0102030405060708, .cookie = 4});
  CHECK(bench.next_text() == text(with_msn(extension("I"), 1)));
  CHECK(bench.ulp.take_log() == Log{"sent 4"});
  bench.ulp.requests.push_back({.opcode = Opcode::kImmediate, .immediate = 9});
  CHECK(bench.next_text() == "41480000 00000000 00000000 00020000 00000000 00000000 0009");
}

TEST_CASE("the InvSTag field of an Immediate is ignored [EXT-3]") {
  Agreed bench;
  bench.ulp.refuse_invalidate = true;
  CHECK_FALSE(bench.feed(immediate(1, 8, 0xDEADBEEF)));
  REQUIRE(bench.ulp.received.size() == 1);
  CHECK_FALSE(bench.ulp.received[0].invalidate);
}

TEST_CASE("a message that begins as a Send and ends as an Immediate, or the reverse, is 0/2/06") {
  for (const bool send_first : {true, false}) {
    Agreed bench;
    const auto a = send_first ? Opcode::kSend : Opcode::kImmediate;
    const auto b = send_first ? Opcode::kImmediate : Opcode::kSend;
    auto first = untagged_header(1, a);
    first.last = false;
    auto second = untagged_header(1, b);
    second.mo = 4;
    CHECK_FALSE(bench.feed(segment(first, pattern(4))));
    CHECK(bench.feed(segment(second, pattern(4))) == kUnexpectedOpcode);
    CHECK(bench.ulp.received.empty());
  }
}

}  // namespace
}  // namespace iwarp::rdmap
