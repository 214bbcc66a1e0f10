// SPDX-License-Identifier: Apache-2.0
// Tests inbound Sends and Writes, and the checks that apply to all messages (RFC 5040 sections 4.1,
// 5.1, 5.3 and 7.2).
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

TEST_CASE("frame F is placed and not reported to the ULP [RDMAP-23, RDMAP-24, RDMAP-25, DDP-40]") {
  Bench bench;
  bench.ulp.writable = {{.stag = 0x11223344, .to = 0x100000000, .at = 64, .length = 32}};
  CHECK_FALSE(bench.feed(message("F")));
  CHECK(bench.ulp.take_log() == Log{"write 11223344 100000010 8"});
  CHECK(text(bench.ulp.memory(79, 10)) == "ee414243 44454647 48ee");
  CHECK_FALSE(bench.ulp.target_held);
}

TEST_CASE(
    "the four Sends differ in SE and Invalidate, and only the Invalidate kinds have an STag "
    "[RDMAP-4, RDMAP-10, RDMAP-53, RDMAP-57, RDMAP-58, DDP-54]") {
  struct Row {
    Opcode opcode;
    bool solicited;
    bool invalidate;
  };
  const Row rows[] = {{Opcode::kSend, false, false},
                      {Opcode::kSendInvalidate, false, true},
                      {Opcode::kSendSolicited, true, false},
                      {Opcode::kSendSolicitedInvalidate, true, true}};
  Bench bench;
  std::uint32_t msn = 0;
  for (const Row& row : rows) {
    bench.ulp.receives = {bench.ulp.memory(0, 8)};
    // Sets the STag field for every opcode. The receiver ignores the field unless the opcode
    // invalidates an STag.
    CHECK_FALSE(bench.feed(segment(untagged_header(++msn, row.opcode, 0xA1B2C3), pattern(3))));
    const auto& got = bench.ulp.received.back();
    CHECK(got.opcode == row.opcode);
    CHECK(got.solicited == row.solicited);
    CHECK(got.invalidate == row.invalidate);
    CHECK(got.invalidated == Stag{0xA1B2C3});
    CHECK(got.length == 3);
  }
  CHECK(bench.ulp.received.size() == 4);
}

TEST_CASE("an expected empty Send is the RTR, not a message [RDMAP-9, EMPA-38]") {
  for (const auto reserved : {std::byte{0}, std::byte{0x3C}}) {
    Bench bench({.rtr_send_expected = true});
    auto octets = message("C1");
    octets[0] |= reserved;
    octets[1] |= reserved & std::byte{0x30};
    CHECK_FALSE(bench.feed(octets));
    CHECK(bench.ulp.log.empty());
    // Only the first message could be an RTR, so the next empty Send is a normal message.
    bench.ulp.receives = {bench.ulp.memory(0, 8)};
    CHECK_FALSE(bench.feed(segment(untagged_header(2))));
    CHECK(bench.ulp.received.size() == 1);
  }
}

TEST_CASE("an empty Send is a message if no RTR is expected, or if it follows another segment") {
  struct Row {
    bool expected;
    std::vector<const char*> messages;
  };
  for (const Row& row : {Row{false, {"C1"}}, Row{true, {"C", "C1"}}, Row{true, {"D"}}}) {
    Bench bench({.rtr_send_expected = row.expected});
    bench.ulp.receives = {bench.ulp.memory(0, 8)};
    for (const auto* name : row.messages) CHECK_FALSE(bench.feed(message(name)));
    CHECK(bench.ulp.received.size() == 1);
  }
}

TEST_CASE("an empty first segment without L is the start of a message, not an RTR") {
  Bench bench({.rtr_send_expected = true});
  bench.ulp.receives = {bench.ulp.memory(0, 8)};
  auto header = untagged_header(1);
  header.last = false;
  CHECK_FALSE(bench.feed(segment(header)));
  header.last = true;
  CHECK_FALSE(bench.feed(segment(header, pattern(5))));
  REQUIRE(bench.ulp.received.size() == 1);
  CHECK(bench.ulp.received[0].length == 5);
}

TEST_CASE("if a payload will not arrive complete, its memory is released") {
  Bench bench;
  bench.ulp.writable = {{.stag = 0x11223344, .to = 0x100000000, .at = 64, .length = 32}};
  const auto octets = message("F");
  REQUIRE(bench.stream.begin(bytes::View(octets).first(18), octets.size()));
  CHECK(bench.ulp.target_held);
  bench.stream.cancel();
  CHECK_FALSE(bench.ulp.target_held);
}

}  // namespace
}  // namespace iwarp::rdmap
