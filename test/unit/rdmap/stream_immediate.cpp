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
  return segment(send_header(msn, Opcode::kImmediate, invalidate), pattern(size, 1));
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

TEST_CASE("Immediates and Sends arrive in the order they were sent [EXT-51, EXT-53, EXT-55]") {
  Agreed from;
  const auto data = pattern(5);
  for (const auto opcode :
       {Opcode::kSend, Opcode::kImmediate, Opcode::kSendSolicited, Opcode::kImmediateSolicited}) {
    from.ulp.requests.push_back({.opcode = opcode,
                                 .length = is_immediate(opcode) ? 0U : 5U,
                                 .payload = {bytes::View(data)},
                                 .immediate = 77});
  }
  Agreed to;
  while (const auto octets = from.next()) CHECK_FALSE(to.feed(*octets));
  std::vector<Opcode> order;
  for (const auto& got : to.ulp.received) order.push_back(got.opcode);
  CHECK(order == std::vector<Opcode>{Opcode::kSend, Opcode::kImmediate, Opcode::kSendSolicited,
                                     Opcode::kImmediateSolicited});
  CHECK(to.ulp.received[1].immediate == 77);
  CHECK(to.ulp.received[2].immediate == 0);
  CHECK(to.ulp.receives.empty());
  // The Immediate consumes the second receive but does not change its buffer.
  CHECK(to.ulp.arena[16] == std::byte{0xEE});
  CHECK(to.ulp.arena[32] == data[0]);
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
    auto first = send_header(1, a);
    first.last = false;
    auto second = send_header(1, b);
    second.mo = 4;
    CHECK_FALSE(bench.feed(segment(first, pattern(4))));
    CHECK(bench.feed(segment(second, pattern(4))) == kUnexpectedOpcode);
    CHECK(bench.ulp.received.empty());
  }
}

TEST_CASE("the versions of both layers are checked first [EXT-62, EXT-64]") {
  for (const auto* name : {"I", "J"}) {
    Agreed rdmap;
    auto frame = extension(name);
    frame[1] = (frame[1] & std::byte{0x3F}) | std::byte{0x80};
    CHECK(rdmap.feed(frame) == kVersionInvalid);
    Agreed ddp_layer;
    frame = extension(name);
    frame[0] = std::byte{0x42};
    CHECK(ddp_layer.feed(frame) == ddp::kUntaggedVersion);
    Agreed msn;
    CHECK(msn.feed(extension(name)) == ddp::kUntaggedMsnRange);
  }
}

}  // namespace
}  // namespace iwarp::rdmap
