// SPDX-License-Identifier: Apache-2.0
// Tests Send with Immediate between two ends that negotiated it: there is one request, one receive
// and one completion at each end. Also tests how such a Send can fail.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

std::uint64_t upper(std::uint32_t immediate) { return std::uint64_t{immediate} << 32; }

void check_received(const WorkCompletion& wc, std::uint32_t immediate, std::size_t length) {
  CHECK(wc.opcode == WcOpcode::kRecvSendImmediate);
  CHECK(wc.immediate == upper(immediate));
  CHECK(wc.byte_len == length);
}

}  // namespace

TEST_CASE("a Send with Immediate is one completion at both ends, of any length") {
  for (const std::size_t size : {0U, 1U, 7U, 1000U, 30'000U}) {
    for (const bool crc : {true, false}) {
      CAPTURE(size);
      auto options = together();
      options.startup.crc = crc;
      options.startup.markers = crc;
      options.max_ulpdu = 512;
      Connected pair(options, options, {.seed = 3, .max_segment = 900});
      CHECK(pair.a->qp->query().send_immediate);
      CHECK(pair.b->qp->query().send_immediate);
      const auto [mine, inbox] = regions(pair, 30'000);
      fill_pattern(mine);
      post_recv(*pair.b, 10, sge(inbox, 0, 30'000));
      const Sge from = sge(mine, 0, size);
      post_send_immediate(*pair.a, 1, {&from, 1}, 0x01020304);
      pair.run();
      const auto sent = pair.a->completions();
      CHECK(text(sent) == "1 success");
      CHECK(sent[0].opcode == WcOpcode::kSend);
      const auto got = pair.b->completions();
      REQUIRE(text(got) == "10 success");
      check_received(got[0], 0x01020304, size);
      CHECK(same(mine, inbox, size));
      CHECK(std::all_of(inbox->address + size, inbox->address + 30'000,
                        [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

TEST_CASE("lists at both ends, inline payload, an empty payload, and a solicited event") {
  Connected pair(together(), together());
  const auto [mine, inbox] = regions(pair, 64);
  fill_pattern(mine);
  const std::array to{sge(inbox, 0, 3), sge(inbox, 32, 29)};
  for (std::uint64_t id = 10; id < 13; ++id) {
    REQUIRE(!pair.b->qp->post_recv({.wr_id = id, .sgl = to}));
  }
  pair.b->cq.arm(verbs::Notify::kSolicited);
  const std::array from{sge(mine, 5, 2), sge(mine, 20, 0), sge(mine, 40, 4)};
  post_send_immediate(*pair.a, 1, from, 1);
  post_send_immediate(*pair.a, 2, {}, 2, SendFlags::kNone);
  pair.run();
  CHECK(pair.b->notifications == 0);
  std::array<std::byte, 5> local{std::byte{'h'}, std::byte{'e'}, std::byte{'l'}, std::byte{'l'},
                                 std::byte{'o'}};
  const Sge unregistered{.address = local.data(), .length = 5};
  CHECK(inbox->address[1] == mine->address[6]);
  CHECK(inbox->address[2] == mine->address[40]);
  CHECK(inbox->address[34] == mine->address[43]);
  post_send_immediate(*pair.a, 3, {&unregistered, 1}, 3,
                      SendFlags::kInline | SendFlags::kSolicited | SendFlags::kSignaled);
  local.fill(std::byte{0});
  pair.run();
  CHECK(pair.b->notifications == 1);
  CHECK(text(pair.a->completions()) == "1 success, 3 success");
  const auto got = pair.b->completions();
  REQUIRE(text(got) == "10 success, 11 success, 12 success");
  check_received(got[0], 1, 6);
  check_received(got[1], 2, 0);
  check_received(got[2], 3, 5);
  CHECK_FALSE(got[1].solicited);
  CHECK(got[2].solicited);
  CHECK(inbox->address[2] == std::byte{'l'});
  CHECK(inbox->address[33] == std::byte{'o'});
  CHECK(opcodes(pair.to_b) == "838385");
}

TEST_CASE(
    "all messages that consume receives consume them in the order sent, with Reads of both ends "
    "between them [EXT-51] [EXT-53] [EXT-55]") {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    auto options = together();
    options.max_ulpdu = 256;
    Connected pair(options, options, {.seed = seed, .max_segment = seed % 2 == 0 ? 60U : 4000U});
    std::mt19937 random(seed);
    constexpr std::uint32_t kCount = 60;
    constexpr std::size_t kEach = 600;
    const auto [mine, inbox] = regions(pair, kCount * kEach);
    Region* target = pair.b->memory(kEach, kEverything);
    fill_pattern(mine);
    std::vector<WrOpcode> kinds;
    for (std::uint32_t id = 0; id < kCount; ++id) {
      constexpr std::array kAll{WrOpcode::kSend, WrOpcode::kSendImmediate, WrOpcode::kImmediate,
                                WrOpcode::kWriteImmediate};
      kinds.push_back(kAll[random() % kAll.size()]);
      post_recv(*pair.b, id, sge(inbox, id * kEach, kEach));
      const Sge from = sge(mine, id * kEach, kEach - id);
      post(*pair.a, {.wr_id = id,
                     .opcode = kinds.back(),
                     .flags = SendFlags::kSignaled,
                     .sgl = {&from, kinds.back() == WrOpcode::kImmediate ? 0U : 1U},
                     .remote = remote(target),
                     .immediate = kinds.back() == WrOpcode::kSend ? 0 : upper(id)});
      post_read(*pair.b, 1000 + id, sge(target, 0, 500), remote(mine), SendFlags::kNone);
    }
    pair.run();
    const auto sent = pair.a->completions();
    REQUIRE(sent.size() == kCount);
    for (std::uint32_t id = 0; id < kCount; ++id) CHECK(sent[id].wr_id == id);
    const auto got = pair.b->completions();
    REQUIRE(got.size() == kCount);
    for (std::uint32_t id = 0; id < kCount; ++id) {
      CAPTURE(id);
      const bool send = kinds[id] == WrOpcode::kSend || kinds[id] == WrOpcode::kSendImmediate;
      CHECK(got[id].wr_id == id);
      CHECK(got[id].opcode == (kinds[id] == WrOpcode::kSend ? WcOpcode::kRecv
                               : kinds[id] == WrOpcode::kSendImmediate
                                   ? WcOpcode::kRecvSendImmediate
                                   : WcOpcode::kRecvImmediate));
      CHECK(got[id].immediate == (kinds[id] == WrOpcode::kSend ? 0 : upper(id)));
      const std::size_t length = send ? kEach - id : 0;
      CHECK(got[id].byte_len == length);
      CHECK(std::memcmp(inbox->address + id * kEach, mine->address + id * kEach, length) == 0);
      CHECK(std::all_of(inbox->address + id * kEach + length, inbox->address + (id + 1) * kEach,
                        [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

TEST_CASE(
    "each Immediate, with a Send or without, consumes one receive of a shared queue [EXT-50]") {
  verbs::SharedReceiveQueue srq(1, {}, nullptr);
  verbs::QpInit init;
  init.srq = &srq;
  Connected pair(together(), together(), {}, {}, init);
  const auto [mine, inbox] = regions(pair, 16, 32);
  fill_pattern(mine);
  for (std::uint64_t id = 0; id < 3; ++id) {
    const Sge to = sge(inbox, id / 2 * 16, 16);
    REQUIRE(!srq.post_recv({.wr_id = 30 + id, .sgl = {&to, 1}}));
  }
  const Sge from = sge(mine, 0, 16);
  post_send_immediate(*pair.a, 1, {&from, 1}, 7);
  post_immediate(*pair.a, 2, 9);
  post_send_immediate(*pair.a, 3, {&from, 1}, 8);
  pair.run();
  const auto got = pair.b->completions();
  REQUIRE(text(got) == "30 success, 31 success, 32 success");
  check_received(got[0], 7, 16);
  CHECK(got[1].immediate == 9);
  check_received(got[2], 8, 16);
  CHECK(same(mine, inbox, 16));
}

TEST_CASE(
    "a Send with Immediate cannot be sent to a peer that did not agree to it, or to RFC 7306 "
    "[EXT-1]") {
  auto nothing = together();
  nothing.startup.extensions = false;
  for (const auto& other : {ConnectionOptions{}, nothing}) {
    for (const bool a_knows : {true, false}) {
      Connected pair(a_knows ? together() : other, a_knows ? other : together());
      CHECK_FALSE(pair.a->qp->query().send_immediate);
      CHECK_FALSE(pair.b->qp->query().send_immediate);
      Region* mine = pair.a->memory(8, kEverything);
      const Sge from = sge(mine, 0, 8);
      CHECK(pair.a->qp->post_send({.opcode = WrOpcode::kSendImmediate, .sgl = {&from, 1}}) ==
            verbs::Errc::kNotAgreed);
      CHECK(pair.a->qp->query().send_outstanding == 0);
      post_recv(*pair.b, 9, sge(pair.b->memory(8, kEverything), 0, 8));
      post_send(*pair.a, 1, from);  // All other requests still work.
      pair.run();
      CHECK(text(pair.b->completions()) == "9 success");
    }
  }
}

TEST_CASE(
    "without the agreement the octets of an Immediate belong to the program, whatever their values "
    "[EXT-52]") {
  Connected pair;
  for (std::uint64_t id = 0; id < 2; ++id) REQUIRE(!pair.b->qp->post_recv({.wr_id = id}));
  post_immediate(*pair.a, 1, rdmap::kOfNextSend);
  post_immediate(*pair.a, 2, 5);
  pair.run();
  const auto got = pair.b->completions();
  REQUIRE(text(got) == "0 success, 1 success");
  CHECK(got[0].immediate == rdmap::kOfNextSend);
}

TEST_CASE("an Immediate whose octets announce a Send is refused, and so are more than 4 octets") {
  Connected pair(together(), together());
  const std::uint64_t announcing = upper(5) | rdmap::kOfNextSend;
  for (const auto opcode : {WrOpcode::kImmediate, WrOpcode::kWriteImmediate}) {
    CHECK(pair.a->qp->post_send({.opcode = opcode, .immediate = announcing}) ==
          verbs::Errc::kInvalidArgument);
  }
  CHECK(pair.a->qp->post_send({.opcode = WrOpcode::kSendImmediate, .immediate = upper(1) + 1}) ==
        verbs::Errc::kInvalidArgument);
}

TEST_CASE("a Send with Immediate posted in Idle is sent if the peer agrees, and fails otherwise") {
  for (const auto opcode : {WrOpcode::kSendImmediate, WrOpcode::kImmediate}) {
    for (const bool agreed : {true, false}) {
      CAPTURE(agreed);
      // If the extension was negotiated, an Immediate on its own fails, because the peer would take
      // it as the beginning of a Send with Immediate.
      const bool fails = agreed == (opcode == WrOpcode::kImmediate);
      Pair pair(together(), agreed ? together() : ConnectionOptions{});
      Region* theirs = pair.b->memory(8, kEverything);
      post_recv(*pair.b, 9, sge(theirs, 0, 8));
      const bool alone = opcode == WrOpcode::kImmediate;
      post(*pair.a, {.wr_id = 2,
                     .opcode = opcode,
                     .flags = SendFlags::kSignaled,
                     .immediate = upper(4) | (alone ? rdmap::kOfNextSend : 0)});
      pair.establish();
      CHECK(text(pair.a->completions()) == (fails ? "2 local QP operation error" : "2 success"));
      CHECK(text(pair.b->completions()) == (fails ? "9 work request flushed" : "9 success"));
      if (fails) check_refused(pair, *pair.a, "0/0/00");
    }
  }
}

TEST_CASE("an invalid local buffer fails the request before its Immediate has been sent") {
  Connected pair(together(), together());
  const Sge nobodys{
      .address = pair.a->memory(8, kEverything)->address, .length = 8, .lkey = Stag{0x12345600}};
  post_recv(*pair.b, 9, sge(pair.b->memory(8, kEverything), 0, 8));
  post_send_immediate(*pair.a, 1, {&nobodys, 1}, 7);
  pair.run();
  check_refused(pair, *pair.a, "0/0/00");
  CHECK(text(pair.a->completions()) == "1 local protection error");
  CHECK(text(pair.b->completions()) == "9 work request flushed");
  CHECK(opcodes(pair.to_b) == "7");
}

TEST_CASE(
    "an Immediate, with a Send or without, that finds no receive is 1/2/02, or waits for one "
    "[EXT-50]") {
  for (const bool with_send : {false, true}) {
    for (const bool hold : {false, true}) {
      auto options = together();
      if (hold) options.receive_hold = 1s;
      Connected pair(together(), options);
      Region* inbox = pair.b->memory(16, kEverything);
      const Sge from = sge(pair.a->memory(16, kEverything), 0, 16);
      if (with_send) {
        post_send_immediate(*pair.a, 1, {&from, 1}, 7);
      } else {
        post_immediate(*pair.a, 1, upper(7));
      }
      pair.run();
      if (!hold) {
        check_refused(pair, *pair.b, "1/2/02");
        continue;
      }
      CHECK(pair.b->completions().empty());
      post_recv(*pair.b, 10, sge(inbox, 0, 16));
      pair.run();
      const auto got = pair.b->completions();
      REQUIRE(text(got) == "10 success");
      CHECK(got[0].immediate == upper(7));
      CHECK(got[0].byte_len == (with_send ? 16 : 0));
    }
  }
}
