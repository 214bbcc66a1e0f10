// SPDX-License-Identifier: Apache-2.0
// Tests Send with Immediate between two ends that negotiated it: there is one request, one receive
// and one completion at each end. Also tests how such a Send fails, and what interrupts it between
// its two messages. The chaos test ends connections between the two messages.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

std::uint64_t upper(std::uint32_t immediate) { return std::uint64_t{immediate} << 32; }

const ConnectionOptions kAgreed = with_crc(false, together());

/// Returns the FPDU of an untagged segment on queue 0.
std::vector<std::byte> send_fpdu(rdmap::Opcode opcode, std::uint32_t msn, View payload) {
  return fpdu({.last = true,
               .rsvd_ulp = rdmap::control_octet(opcode),
               .qn = rdmap::kSendQueue,
               .msn = ddp::Msn{msn}},
              payload);
}

/// Delivers to `b` an Immediate that announces a Send, as if it came from `a`. The program of `a`
/// has posted nothing.
void announce(Pair& pair) {
  std::array<std::byte, rdmap::kImmediateSize> octets{};
  bytes::store_be(octets.data(), std::uint64_t{5} << 32 | rdmap::kOfNextSend);
  pair.to_b.put(send_fpdu(rdmap::Opcode::kImmediate, 1, octets));
  pair.run();
}

/// Two ends. An Immediate that announces a Send has consumed a receive at `b`.
struct Announced : Connected {
  explicit Announced(const verbs::QpInit& init_b = {})
      : Connected(kAgreed, kAgreed, {}, {}, init_b) {
    const Sge to = sge(inbox, 0, 64);
    const verbs::RecvWr wr{.wr_id = 9, .sgl = {&to, 1}};
    REQUIRE(!(init_b.srq != nullptr ? init_b.srq->post_recv(wr) : b->qp->post_recv(wr)));
    announce(*this);
    REQUIRE(b->completions().empty());
    REQUIRE(b->qp->state() == QpState::kRts);
  }
  void check_flushed() {
    CHECK(text(b->completions()) == "9 work request flushed");
    CHECK(b->qp->state() == QpState::kError);
    CHECK(all_zero(inbox));
    CHECK(b->guards_intact());
  }
  Region* const inbox = b->memory(64, kEverything);
};

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
      CHECK(got[0].opcode == WcOpcode::kRecvSendImmediate);
      CHECK(got[0].immediate == upper(0x01020304));
      CHECK(got[0].byte_len == size);
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

TEST_CASE("a close between the announcement and the announced Send is premature") {
  Announced pair;
  pair.to_b.fin = true;
  pair.run();
  CHECK(sent_code(*pair.b) == "2/0/01");
  pair.check_flushed();
}

TEST_CASE("if the connection is lost or aborted, the announced receive is flushed") {
  for (const bool lost : {true, false}) {
    Announced pair;
    if (lost) {
      pair.b->connection->lost(pair.b->now);
    } else {
      REQUIRE(!pair.b->qp->abort());
    }
    pair.check_flushed();
  }
}

TEST_CASE("a local close completes when the peer's direction ends without the announced Send") {
  Announced pair;
  REQUIRE(!pair.b->qp->disconnect());
  pair.run();
  pair.advance(10s);
  CHECK(text(pair.b->completions()) == "9 work request flushed");
  CHECK(pair.b->qp->state() != QpState::kRts);
  CHECK(all_zero(pair.inbox));
}

TEST_CASE("an announced receive of a shared queue is flushed with its stream, the rest not") {
  verbs::SharedReceiveQueue srq(1, {}, nullptr);
  REQUIRE(!srq.post_recv({.wr_id = 9}));
  Announced pair({.srq = &srq});
  REQUIRE(!pair.b->qp->abort());
  CHECK(text(pair.b->completions()) == "9 work request flushed");
  CHECK(srq.size() == 1);
}

TEST_CASE("memory of the announced receive is deregistered: the stream ends, no octet is placed") {
  Announced pair;
  const auto payload = std::vector<std::byte>(16, std::byte{7});
  destroy(*pair.b, pair.inbox);
  const std::vector<std::byte> before(pair.inbox->address, pair.inbox->address + 64);
  pair.to_b.put(send_fpdu(rdmap::Opcode::kSend, 2, payload));
  pair.run();
  CHECK(std::equal(before.begin(), before.end(), pair.inbox->address));
  CHECK(text(pair.b->completions()) == "9 work request flushed");
  check_refused(pair, *pair.b, "0/0/00");
}

TEST_CASE("a Send whose source is deregistered while it waits behind its Immediate is not sent") {
  auto one_by_one = kAgreed;
  one_by_one.transmit_batch = 1;  // Frames the Send only after the Immediate has been sent.
  auto [pair, mine, inbox] = Ready(64, one_by_one, kAgreed);
  fill_pattern(mine);
  post_recv(*pair.b, 9, sge(inbox, 0, 64));
  const Sge from = sge(mine, 0, 64);
  post_send_immediate(*pair.a, 1, {&from, 1}, 8);
  pair.a->connection->transmit_plan(64, pair.a->now);
  destroy(*pair.a, mine);
  check_refused(pair, *pair.a, "0/0/00");
  CHECK(text(pair.a->completions()) == "1 local protection error");
  CHECK(text(pair.b->completions()) == "9 work request flushed");
  CHECK(all_zero(inbox));
}
