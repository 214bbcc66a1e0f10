// SPDX-License-Identifier: Apache-2.0
// Tests IWARP_COMPLETIONS=acked, with which a completion means that the peer has executed the
// request. Shows only what needs queue pairs without the CM: peers that never connect or that
// disconnect. test/sim/acknowledged tests which requests complete, when, and with
// which status. The library reads the variable once per process, so these cases are a separate
// program.
#include <cstdlib>

#include "bring_up.hpp"
#include "stranger.hpp"

namespace {

using namespace data;

const int kSet = ::setenv("IWARP_COMPLETIONS", "acked", 1);

std::string statuses(ibv_cq* cq, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    CAPTURE(out);
    const ibv_wc wc = next(cq);
    out += std::to_string(wc.wr_id) + " " + ibv_wc_status_str(wc.status) + "; ";
  }
  return out;
}

int send(End& end, std::uint64_t id, std::size_t length) {
  return end.post({.wr_id = id, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, length);
}

// Writes to slot `id` of the peer's memory. `id` is also the wr_id.
int write(End& end, const End& peer, std::uint64_t id) {
  return end.post_rdma(IBV_WR_RDMA_WRITE, peer, id, 8, id * 8);
}

// Each of these functions returns the number of a queue pair that does not exist. refusing(): the
// TCP port that belongs to the number has no listener. silent(): the TCP port belongs to this
// process, which has no such queue pair, so a connection request waits there. absent(): the number
// is smaller than the number of this end, so the queue pair with this number would have to connect
// to this end.
std::uint32_t refusing(const ibv_qp*) { return 0xFF0001; }
std::uint32_t silent(const ibv_qp* qp) { return 0xFE0000 | (qp->qp_num & 0xFFFF); }
std::uint32_t absent(const ibv_qp*) { return 1; }

}  // namespace

// [IBV-300]
TEST_CASE("a peer that is destroyed right after the last Send has still acknowledged it") {
  constexpr std::uint64_t kSends = 16;
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    Pair pair;
    for (std::uint64_t i = 0; i < kSends; ++i) {
      REQUIRE_EQ(pair.b.post_recv(i, i * 4096, 4096), 0);
    }
    for (std::uint64_t i = 0; i < kSends; ++i) REQUIRE_EQ(send(pair.a, i, 4096), 0);
    for (std::uint64_t i = 0; i < kSends; ++i) success(pair.b.cq);
    renew(pair.b);
    for (std::uint64_t i = 0; i < kSends; ++i) success(pair.a.cq);
  }
}

TEST_CASE("successes with one peer are reported before another, departed peer counts as silent") {
  constexpr Timeouts kLong{.timeout = 24, .retry_cnt = 7};
  Pair pair({}, {}, kForEver, kLong);
  auto& [a, b] = pair;
  Pair others;
  REQUIRE_EQ(write(a, b, 1), 0);
  success(a.cq);
  REQUIRE_EQ(send(a, 2, 8), 0);  // b has posted no receive for this Send.
  const auto left = std::chrono::steady_clock::now();
  renew(b);
  REQUIRE_EQ(write(others.a, others.b, 3), 0);
  success(others.a.cq);
  CHECK_EQ(statuses(a.cq, 1), "2 transport retry counter exceeded; ");
  // The error must not come before the timeout, even if the scheduler delays this program.
  CHECK_GE(std::chrono::steady_clock::now() - left, 2s);
}

// [IBV-459]
TEST_CASE("a disconnect before RTS is discovered in RTS") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp);
  REQUIRE_EQ(a.post_recv(9, 0, 8), 0);
  make_ready_to_receive(b, a.qp);
  make_ready_to_send(b, a.qp);
  REQUIRE_EQ(send(b, 1, 8), 0);
  success(b.cq);
  CHECK_EQ(statuses(a.cq, 1), "9 success; ");
  renew(b);
  Pair().settle();
  CHECK_EQ(a.state(), IBV_QPS_RTR);
  make_ready_to_send(a, b.qp);
  REQUIRE_EQ(write(a, b, 2), 0);
  CHECK_EQ(statuses(a.cq, 1), "2 transport retry counter exceeded; ");
}

TEST_CASE("a peer that disconnects between its Request and its RTR causes no event either") {
  End a;
  ibv_qp claimed{};
  claimed.qp_num = silent(a.qp);
  make_ready_to_receive(a, &claimed);
  REQUIRE_EQ(a.post_recv(9, 0, 8), 0);
  Stranger peer(a.qp->qp_num);
  peer.say({.from = claimed.qp_num, .to = a.qp->qp_num}, Rtr::kWrite);
  REQUIRE(peer.is_answered());
  SUBCASE("it closes") { peer.close_in_order(); }
  SUBCASE("it resets") { peer.reset(); }
  Pair others;
  // The connection event of `others` is queued behind the disconnect event of the first connection.
  others.settle();
  CHECK(is_empty(a.cq));
  CHECK_EQ(a.state(), IBV_QPS_RTR);
  make_ready_to_send(a, &claimed);
  REQUIRE_EQ(write(a, a, 2), 0);
  CHECK_EQ(statuses(a.cq, 2), "2 transport retry counter exceeded; 9 Work Request Flushed Error; ");
}

namespace {

void post_three(End& end) {
  for (const std::uint64_t id : {1U, 2U, 3U}) REQUIRE_EQ(write(end, end, id), 0);
}

constexpr const char* kUnanswered =
    "1 transport retry counter exceeded; 2 Work Request Flushed Error; "
    "3 Work Request Flushed Error; ";

}  // namespace

TEST_CASE("if the peer never connects, the oldest request times out and the rest is flushed") {
  for (const auto number : {refusing, silent, absent}) {
    End end;
    const ibv_qp nobody{.qp_num = number(end.qp)};
    CAPTURE(nobody.qp_num);
    end.bring_up(&nobody, End::kAllRights, 0, kShort);
    REQUIRE_EQ(end.post_recv(9), 0);
    post_three(end);
    CHECK_EQ(statuses(end.cq, 4), std::string(kUnanswered) + "9 Work Request Flushed Error; ");
    CHECK_EQ(end.state(), IBV_QPS_ERR);
    // The queue pair can be used again after a reset.
    REQUIRE_EQ(end.modify(IBV_QPS_RESET), 0);
    End peer;
    end.bring_up(peer.qp, End::kAllRights, 0, kShort);
    peer.bring_up(end.qp);
    REQUIRE_EQ(write(end, peer, 4), 0);
    CHECK_EQ(statuses(end.cq, 1), "4 success; ");
  }
}

TEST_CASE("later requests fail as well, even without a retry limit if the peer cannot exist") {
  End end;
  const ibv_qp nobody{.qp_num = refusing(end.qp)};
  end.bring_up(&nobody);
  CHECK_EQ(end.state(), IBV_QPS_RTS);  // As on InfiniBand, the state is RTS before the first send.
  post_three(end);
  CHECK_EQ(statuses(end.cq, 3), kUnanswered);
}

TEST_CASE("a peer that connects in time is waited for") {
  End a;
  End b;
  a.bring_up(b.qp, End::kAllRights, 0, {.timeout = 24, .retry_cnt = 7});
  REQUIRE_EQ(write(a, b, 1), 0);
  b.bring_up(a.qp, End::kAllRights, 0, {.timeout = 24, .retry_cnt = 7});
  CHECK_EQ(statuses(a.cq, 1), "1 success; ");
}
