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
      CHECK(all_zero(inbox, size));
    }
  }
}

TEST_CASE("a Send with Immediate needs a peer that agreed to it and to RFC 7306 [EXT-1]") {
  for (const auto& other : {ConnectionOptions{}, without_extensions(together())}) {
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
      CHECK(completed(pair, *pair.b) == "9 success");
    }
  }
}

TEST_CASE("without agreement the octets of an Immediate belong to the program [EXT-52]") {
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
      post(*pair.a, 2, opcode, SendFlags::kSignaled,
           {.immediate = upper(4) | (alone ? rdmap::kOfNextSend : 0)});
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
  check_refused(pair, *pair.a, "0/0/00");
  CHECK(text(pair.a->completions()) == "1 local protection error");
  CHECK(text(pair.b->completions()) == "9 work request flushed");
  CHECK(opcodes(pair.to_b) == "7");
}

TEST_CASE("a message without a receive is 1/2/02, or waits [DDP-68, RDMAP-49, VRB-38, EXT-50]") {
  for (const auto opcode : {WrOpcode::kSend, WrOpcode::kSendImmediate, WrOpcode::kImmediate}) {
    for (const bool hold : {false, true}) {
      auto options = together();
      if (hold) options.receive_hold = 1s;
      Connected pair(together(), options);
      Region* inbox = pair.b->memory(16, kEverything);
      const Sge from = sge(pair.a->memory(16, kEverything), 0, 16);
      const std::size_t elements = opcode == WrOpcode::kImmediate ? 0 : 1;
      const auto immediate = opcode == WrOpcode::kSend ? 0 : upper(7);
      post(*pair.a, {.opcode = opcode, .sgl = {&from, elements}, .immediate = immediate});
      pair.run();
      CHECK(pair.b->completions().empty());
      if (!hold) {
        check_refused(pair, *pair.b, "1/2/02");
        continue;
      }
      post_recv(*pair.b, 10, sge(inbox, 0, 16));
      pair.run();
      const auto got = pair.b->completions();
      REQUIRE(text(got) == "10 success");
      CHECK(got[0].immediate == immediate);
      CHECK(got[0].byte_len == 16 * elements);
    }
  }
}
