// SPDX-License-Identifier: Apache-2.0
// Tests which connection requests a queue pair accepts. The tests write the requests octet by
// octet. Some make false claims, some come from another address, and some arrive by the thousand.
#include <algorithm>

#include "bring_up.hpp"
#include "stranger.hpp"

namespace {

using namespace data;

// [IBV-470, IBV-473]
TEST_CASE("only a connection from the peer's address with both numbers and both PSNs is accepted") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp);
  const Claim right{.from = b.qp->qp_num, .to = a.qp->qp_num};
  Claim other_sender = right;
  other_sender.from += 1 << 16;
  Claim other_psn = right;
  other_psn.sq_psn += 1;
  Claim wide_psn = right;
  wide_psn.sq_psn |= 1 << 24;
  Claim nobody = right;
  nobody.to += 200 << 16;
  Claim other_port = right;
  other_port.to ^= 1;
  Claim too_large = right;
  too_large.to |= 1U << 31;
  for (const Claim& lie : {other_sender, other_psn, wide_psn, nobody, other_port, too_large}) {
    CHECK_FALSE(Stranger(a.qp->qp_num).say(lie).is_answered());
  }
  CHECK_FALSE(Stranger(a.qp->qp_num, "127.0.0.2").say(right).is_answered());
  // The queue pair still accepts its real peer.
  make_ready_to_receive(b, a.qp);
  make_ready_to_send(b, a.qp);
  read_from(b, a);
}

TEST_CASE("from RTS on, the other PSN is checked too") {
  End a;
  const Claim peer{.from = a.qp->qp_num + (1 << 16), .to = a.qp->qp_num, .rq_psn = 5};
  ibv_qp absent{};
  absent.qp_num = peer.from;
  make_ready_to_receive(a, &absent);
  {
    End b;  // b is destroyed before a request for it arrives.
    make_ready_to_receive(b, a.qp);
  }
  REQUIRE_EQ(modify(a, &absent, IBV_QPS_RTS, kToRts, 6), 0);
  CHECK_FALSE(Stranger(a.qp->qp_num).say(peer).is_answered());
}

TEST_CASE("a peer with wrong PSNs is not accepted, and with the right ones it is") {
  End a;
  End b;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    // Each end connects, and each rejects the other's request because of the wrong PSN in it.
    make_ready_to_receive(a, b.qp, 1);
    make_ready_to_receive(b, a.qp, 2);
    make_ready_to_send(a, b.qp, 1);
    make_ready_to_send(b, a.qp, 2);
    // A request that has the same queue pair numbers and was sent before the reset may still
    // arrive.
    REQUIRE_EQ(b.modify(IBV_QPS_RESET), 0);
    make_ready_to_receive(b, a.qp, 1);
    make_ready_to_send(b, a.qp, 1);
    read_from(a, b);
    read_from(b, a);
    REQUIRE_EQ(a.modify(IBV_QPS_RESET), 0);
    REQUIRE_EQ(b.modify(IBV_QPS_RESET), 0);
  }
}

// [IBV-472]
TEST_CASE("PSNs have 24 bits") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp, 0xFF000001);
  make_ready_to_receive(b, a.qp, 1);
  make_ready_to_send(a, b.qp, 1);
  make_ready_to_send(b, a.qp, 0xAB000001);
  read_from(a, b);
}

TEST_CASE("requests for queue pairs that do not exist are closed, however many arrive") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp);
  End gone;
  const std::uint32_t was = gone.qp->qp_num;
  renew(gone);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const std::uint32_t nobody = i % 2 == 0 ? was : (256 + i) << 16 | (was & 0xFFFF);
    CHECK_FALSE(Stranger(was).say({.from = i, .to = nobody}).is_answered());
  }
  make_ready_to_send(a, b.qp);
  make_ready_to_receive(b, a.qp);
  read_from(a, b);
}

TEST_CASE("of the requests for a queue pair that is not ready, the latest 256 wait") {
  constexpr std::size_t kWaiting = 256;
  constexpr std::size_t kMore = 100;
  End a;
  End b;
  End unready;
  // Makes this process listen on the TCP port that the queue pair number of `unready` also
  // contains.
  make_ready_to_receive(a, b.qp);
  const std::uint32_t to = unready.qp->qp_num;
  std::vector<Stranger> strangers;
  strangers.reserve(kWaiting + kMore);
  for (std::size_t i = 0; i < kWaiting + kMore; ++i) {
    strangers.emplace_back(to).say({.from = static_cast<std::uint32_t>(i), .to = to});
  }
  // Only the evicted requests are closed so far. The 256 requests that still wait are rejected when
  // the queue pair is reset.
  std::size_t sent_away = 0;
  while (sent_away < kMore) {
    sent_away = static_cast<std::size_t>(
        std::ranges::count_if(strangers, [](const Stranger& s) { return !s.is_silent(); }));
  }
  CHECK_EQ(sent_away, kMore);
  make_ready_to_receive(unready, b.qp);
  REQUIRE_EQ(unready.modify(IBV_QPS_RESET), 0);
  for (const Stranger& stranger : strangers) CHECK_FALSE(stranger.is_answered());
  make_ready_to_receive(b, a.qp);
  make_ready_to_send(a, b.qp);
  read_from(a, b);
}

}  // namespace
