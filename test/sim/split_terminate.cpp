// SPDX-License-Identifier: Apache-2.0
// Tests Terminates that this stack never sends. A Terminate in two segments takes effect when it is
// complete (RFC 5040 section 7.1, RFC 5041 section 5.4). Until then the end keeps sending its
// queued data, even to a peer that does not read. A Terminate may also name a request that does not
// exist.
#include "iwarp/rdmap/faults.hpp"
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kQueuedWrite = 20'000;
constexpr std::size_t kControlFirst = 2;

/// Delivers one segment of the peer's Terminate.
void arrives(End& end, std::uint32_t mo, bool last, View payload) {
  const auto octets = fpdu({.last = last,
                            .rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kTerminate),
                            .qn = rdmap::kTerminateQueue,
                            .msn = ddp::Msn{1},
                            .mo = mo},
                           payload);
  REQUIRE(end.receive(octets) == octets.size());
}

/// The state after `a` has posted a Write of several FPDUs to a peer that does not read, and has
/// sent a part of the first FPDU.
struct Blocked {
  Blocked() : pair(options(), options()) {
    REQUIRE(pair.establish());
    mine = pair.a->memory(kQueuedWrite, kEverything);
    theirs = pair.b->memory(kQueuedWrite, kEverything);
    fill_pattern(mine);
    post_write(*pair.a, 1, sge(mine, 0, kQueuedWrite), remote(theirs));
    queued = bytes::total_size(pair.a->connection->transmit_plan(64, pair.a->now));
    REQUIRE(queued > kQueuedWrite);
    pair.to_b.send(kLeft);
    bytes::Writer writer{Span(message)};
    rdmap::encode({.fault = rdmap::kLocalCatastrophic, .segment = {}}, writer);
  }
  static ConnectionOptions options() { return with_crc(false, {.max_ulpdu = 1000}); }
  std::size_t to_send() {
    return bytes::total_size(pair.a->connection->transmit_plan(64, pair.a->now));
  }
  void first_arrives() { arrives(*pair.a, 0, false, View(message).first(kControlFirst)); }

  static constexpr std::size_t kLeft = 10;
  Pair pair;
  Region* mine = nullptr;
  Region* theirs = nullptr;
  std::size_t queued = 0;
  std::array<std::byte, 4> message{};
};

// Returns the payload of a Terminate that refuses an atomic.
std::vector<std::byte> refusal(std::uint32_t msn) {
  rdmap::TerminatedSegment segment{.segment_length = 70,
                                   .ddp_header_size = ddp::kUntaggedHeaderSize};
  bytes::Writer header{Span(segment.ddp_header)};
  ddp::encode({.last = true,
               .rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kAtomicRequest),
               .qn = rdmap::kReadRequestQueue,
               .msn = ddp::Msn{msn}},
              header);
  std::vector<std::byte> out(4 + 2 + ddp::kUntaggedHeaderSize);
  bytes::Writer writer{Span(out)};
  rdmap::encode({.fault = rdmap::kBounds, .segment = segment}, writer);
  return out;
}

}  // namespace

TEST_CASE("the first of two segments of a Terminate drops no queued data [DDP-17]") {
  Blocked blocked;
  blocked.first_arrives();
  CHECK(blocked.pair.a->qp->state() == QpState::kRts);
  CHECK(blocked.to_send() == blocked.queued - Blocked::kLeft);
  blocked.pair.run();
  CHECK(text(blocked.pair.a->completions()) == "1 success");
  CHECK(same(blocked.mine, blocked.theirs, kQueuedWrite));
}

TEST_CASE("of the queued data only a partly sent FPDU is completed [RDMAP-62, VRB-14, VRB-20]") {
  Blocked blocked;
  blocked.first_arrives();
  arrives(*blocked.pair.a, kControlFirst, true, View(blocked.message).subspan(kControlFirst));
  CHECK(received_code(*blocked.pair.a) == "0/0/00");
  CHECK(text(blocked.pair.a->completions()) == "1 work request flushed");
  CHECK(blocked.to_send() == mpa::fpdu_size(1000) - Blocked::kLeft);
}

TEST_CASE("of two atomics the one with the Terminate's MSN fails; if none, the oldest [VRB-54]") {
  for (const auto completions : {verbs::Completions::kSent, verbs::Completions::kAcknowledged}) {
    for (const std::uint32_t msn : {0U, 1U, 2U, 3U, UINT32_MAX}) {
      INFO("completions ", static_cast<int>(completions), ", msn ", msn);
      auto options = with_rtr(mpa::Rtr::kWrite, Blocked::options());
      options.completions = completions;
      auto [pair, mine, theirs] = Ready(8, options, Blocked::options());
      for (const std::uint64_t id : {1U, 2U}) {
        post_fetch_add(*pair.a, id, sge(mine, 0, 8), remote(theirs), 1);
      }
      pair.to_b.send();
      arrives(*pair.a, 0, true, refusal(msn));
      CHECK(text(pair.a->completions()) == (msn == 2
                                                ? "1 work request flushed, 2 remote access error"
                                                : "1 remote access error, 2 work request flushed"));
    }
  }
}
