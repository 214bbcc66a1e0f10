// SPDX-License-Identifier: Apache-2.0
// Tests a Send with Immediate that is interrupted between its two messages, the Immediate and the
// Send: because memory is deregistered, or because the peer sends something else after the
// Immediate. The chaos test ends connections between the two messages.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

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
