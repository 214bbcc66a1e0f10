// SPDX-License-Identifier: Apache-2.0
// A Terminate that comes in two segments: it counts once it is whole (RFC 5040 section 7.1, RFC
// 5041 section 5.4), and what is queued for a peer that does not read is sent until then.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kQueuedWrite = 20'000;
constexpr std::size_t kControlFirst = 2;

/// One segment of the peer's Terminate, without a CRC.
std::vector<std::byte> terminate_fpdu(std::uint32_t mo, bool last, View payload) {
  std::vector<std::byte> out(mpa::fpdu_size(ddp::kUntaggedHeaderSize + payload.size()));
  bytes::Writer writer{Span(out)};
  writer.u16(static_cast<std::uint16_t>(ddp::kUntaggedHeaderSize + payload.size()));
  ddp::encode({.last = last,
               .rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kTerminate),
               .qn = rdmap::kTerminateQueue,
               .msn = ddp::Msn{1},
               .mo = mo},
              writer);
  writer.put(payload);
  return out;
}

/// a has a Write for a peer that does not read, in several FPDUs; of the first some octets are out.
struct Blocked {
  Blocked() : pair(options(), options()) {
    REQUIRE(pair.establish());
    mine = pair.a->memory(kQueuedWrite, kEverything);
    theirs = pair.b->memory(kQueuedWrite, kEverything);
    fill_pattern(mine);
    post_write(*pair.a, 1, sge(mine, 0, kQueuedWrite), remote(theirs));
    const auto plan = pair.a->connection->transmit_plan(64, pair.a->now);
    queued = bytes::total_size(plan);
    REQUIRE(queued > kQueuedWrite);
    const View out = plan.front().first(kLeft);
    pair.to_b.wire.insert(pair.to_b.wire.end(), out.begin(), out.end());
    pair.a->connection->transmitted(kLeft, pair.a->now);
    bytes::Writer writer{Span(message)};
    rdmap::encode({.fault = rdmap::kLocalCatastrophic, .segment = {}}, writer);
  }
  static ConnectionOptions options() {
    ConnectionOptions out;
    out.startup.crc = false;
    out.max_ulpdu = 1000;
    return out;
  }
  void arrives(std::uint32_t mo, bool last, View payload) {
    const auto fpdu = terminate_fpdu(mo, last, payload);
    const auto plan = pair.a->connection->receive_plan();
    REQUIRE_FALSE(plan.empty());
    std::copy(fpdu.begin(), fpdu.end(), plan[0].begin());
    pair.a->connection->received(fpdu.size(), pair.a->now);
  }
  std::size_t to_send() {
    return bytes::total_size(pair.a->connection->transmit_plan(64, pair.a->now));
  }
  void first_arrives() { arrives(0, false, View(message).first(kControlFirst)); }

  static constexpr std::size_t kLeft = 10;
  Pair pair;
  Region* mine = nullptr;
  Region* theirs = nullptr;
  std::size_t queued = 0;
  std::array<std::byte, 4> message{};
};

}  // namespace

TEST_CASE("the first of two segments of a Terminate drops nothing that is queued [DDP-17]") {
  Blocked blocked;
  blocked.first_arrives();
  CHECK(blocked.pair.a->qp->state() == QpState::kRts);
  CHECK(blocked.to_send() == blocked.queued - Blocked::kLeft);
  blocked.pair.run();
  CHECK(text(blocked.pair.a->completions()) == "1 success");
  CHECK(same(blocked.mine, blocked.theirs, kQueuedWrite));
}

TEST_CASE(
    "with the second it ends the stream, and of what was queued only what is half out goes "
    "on [RDMAP-62] [VRB-14] [VRB-20]") {
  Blocked blocked;
  blocked.first_arrives();
  blocked.arrives(kControlFirst, true, View(blocked.message).subspan(kControlFirst));
  CHECK(received_code(*blocked.pair.a) == "0/0/00");
  CHECK(text(blocked.pair.a->completions()) == "1 work request flushed");
  CHECK(blocked.to_send() == mpa::fpdu_size(1000) - Blocked::kLeft);
}
