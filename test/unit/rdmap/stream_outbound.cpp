// SPDX-License-Identifier: Apache-2.0
// Tests what a stream sends: messages octet by octet, their order, the ORD limit, and the RTR (RFC
// 5040 sections 4, 5 and 6.1, RFC 6581 section 9.2).
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

TEST_CASE(
    "a Send, a Write and a Read Request are encoded as frames D, F and G [RDMAP-1, RDMAP-2, "
    "RDMAP-3, RDMAP-8, RDMAP-9, RDMAP-10, RDMAP-11, RDMAP-12, RDMAP-23, RDMAP-27, RDMAP-30, "
    "RDMAP-33, RDMAP-48, RDMAP-54, DDP-32]") {
  Bench bench;
  const auto hello = hex("68656c6c6f");
  const auto letters = hex("4142434445464748");
  bench.ulp.requests = {send(Opcode::kSend, hello),
                        {.opcode = Opcode::kWrite,
                         .length = 8,
                         .payload = {bytes::View(letters)},
                         .stag = Stag{0x11223344},
                         .to = TaggedOffset{0x100000010}},
                        read(bench.ulp.memory(0, 64))};
  CHECK(bench.next_text() == text(message("D")));
  CHECK(bench.next_text() == text(message("F")));
  CHECK(bench.next_text() == text(message("G")));
  CHECK_FALSE(bench.next());
}

TEST_CASE("a Send with Invalidate has the STag, others have 0 [RDMAP-4, RDMAP-10, RDMAP-57]") {
  Bench bench;
  for (const auto opcode : {Opcode::kSendInvalidate, Opcode::kSend, Opcode::kSendSolicited,
                            Opcode::kSendSolicitedInvalidate}) {
    auto request = send(opcode, {});
    request.stag = Stag{0x00A1B2C3};
    bench.ulp.requests.push_back(request);
  }
  CHECK(bench.next_text() == text(with_msn(message("E"), 1)));
  CHECK(bench.next_text() == "41430000 00000000 00000000 00020000 0000");
  CHECK(bench.next_text() == "41450000 00000000 00000000 00030000 0000");
  CHECK(bench.next_text() == "414600a1 b2c30000 00000000 00040000 0000");
}

TEST_CASE(
    "operations are sent in the order submitted, and each completes when its last octet has been "
    "sent [RDMAP-26, RDMAP-34, RDMAP-55, RDMAP-71, RDMAP-72, DDP-47]") {
  Bench bench;
  const auto payload = pattern(300);
  bench.ulp.requests = {send(Opcode::kSend, payload, 5), read(bench.ulp.memory(0, 8), 6),
                        send(Opcode::kSendSolicited, payload, 7)};
  bench.ulp.requests.push_back(
      {.opcode = Opcode::kWrite, .length = 300, .payload = {bytes::View(payload)}, .cookie = 8});
  std::string order;
  Log completions;
  while (const auto octets = bench.next(128)) {
    order += fmt::format("{:x}", std::to_integer<unsigned>((*octets)[1]) & 0x0F);
    for (auto& line : bench.ulp.take_log()) completions.push_back(order + " " + line);
  }
  CHECK(order == "3331555000");
  CHECK(completions == Log{"333 sent 5", "3331 sent 6", "3331555 sent 7", "3331555000 sent 8"});
}

TEST_CASE("the answer to a Read RTR is not reported, with ORD 0 as well [EMPA-38]") {
  Bench bench({.ord = 0});
  bench.stream.send_rtr(RtrKind::kRead);
  CHECK(bench.drain() == "1");
  CHECK_FALSE(bench.feed(message("C3")));
  CHECK(bench.ulp.log.empty());
}

TEST_CASE("empty operations are one segment each [RDMAP-28, RDMAP-38, RDMAP-56, DDP-44]") {
  Bench bench;
  bench.ulp.requests = {send(Opcode::kSend, {}),
                        {.opcode = Opcode::kWrite, .stag = Stag{1}, .to = TaggedOffset{2}},
                        read({})};
  CHECK(bench.drain() == "301");
}

TEST_CASE("responses and requests alternate at message boundaries") {
  Bench bench;
  bench.ulp.readable = {{.stag = 1, .to = 0, .at = 0, .length = 300}};
  for (std::uint32_t msn = 1; msn <= 3; ++msn) {
    CHECK_FALSE(bench.feed(read_request(msn, {.size = 300, .source_stag = Stag{1}})));
  }
  const auto payload = pattern(200);
  for (int i = 0; i < 3; ++i) bench.ulp.requests.push_back(send(Opcode::kSend, payload));
  // Each response has three segments, and each Send has two. Segments of two messages are never
  // interleaved.
  const auto order = bench.drain(128);
  CHECK((order == "222332223322233" || order == "332223322233222"));
}

TEST_CASE("an empty Read is answered before the ULP's messages, whatever is due next") {
  for (const bool after_one : {false, true}) {
    Bench bench;
    if (after_one) {
      bench.ulp.requests = {send(Opcode::kSend, {})};
      CHECK(bench.drain() == "3");
    }
    CHECK_FALSE(bench.feed(read_request(1, {})));
    CHECK_FALSE(bench.feed(read_request(2, {})));
    bench.ulp.requests = {send(Opcode::kSend, {}), send(Opcode::kSend, {})};
    CHECK(bench.drain() == "2233");
  }
}

TEST_CASE("the stream reports when it is between two messages") {
  Bench bench;
  const auto payload = pattern(200);
  bench.ulp.requests = {send(Opcode::kSend, payload)};
  CHECK(bench.stream.at_message_boundary());
  bench.next(128);
  CHECK_FALSE(bench.stream.at_message_boundary());
  bench.next(128);
  CHECK(bench.stream.at_message_boundary());
}

}  // namespace
}  // namespace iwarp::rdmap
