// SPDX-License-Identifier: Apache-2.0
// Tests what a program sees of each injected fault. At the other end, the effects must be those of
// a real fault.
#include <array>

#include "rules.hpp"
#include "support.hpp"

using namespace data;
using faults::rule;

namespace {

ibv_event_type next_event(const End& end) { return end.take_async_event().event_type; }

ibv_port_state port_state(End& end) {
  ibv_port_attr attr{};
  REQUIRE_EQ(ibv_query_port(end.context, 1, &attr), 0);
  return attr.state;
}

void write(End& from, const End& to) {
  REQUIRE_EQ(from.post_rdma(IBV_WR_RDMA_WRITE, to, 0, 8, 0), 0);
}

}  // namespace

TEST_CASE("a completion has the status that the rule specifies, and its queue pair fails") {
  Options options;
  SUBCASE("with ibv_poll_cq()") {}
  SUBCASE("with ibv_start_poll()") { options.extended_cq = true; }
  SettledPair pair(options, options, kShort);
  rule("after 3 completions status RETRY_EXC_ERR");
  for (int i = 0; i < 4; ++i) {
    write(pair.a, pair.b);
    const ibv_wc wc = next(pair.a.cq);
    CHECK_EQ(wc.status, i < 2    ? IBV_WC_SUCCESS
                        : i == 2 ? IBV_WC_RETRY_EXC_ERR
                                 : IBV_WC_WR_FLUSH_ERR);
    if (i == 2) CHECK_EQ(wc.vendor_err, 0x20000);
  }
  CHECK_EQ(pair.a.state(), IBV_QPS_ERR);
  REQUIRE_EQ(pair.b.post_recv(1, 0, 8), 0);
  faults::check_that_peer_is_gone(pair.b, pair.a);
}

TEST_CASE("after a failed completion no request succeeds, and a reset recovers the queue pair") {
  SettledPair pair;
  for (int i = 0; i < 3; ++i) write(pair.a, pair.b);
  rule("after 1 completion status REM_ACCESS_ERR");
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
  REQUIRE_EQ(pair.b.modify(IBV_QPS_ERR), 0);
  REQUIRE_EQ(pair.a.modify(IBV_QPS_RESET), 0);
  REQUIRE_EQ(pair.b.modify(IBV_QPS_RESET), 0);
  pair.a.bring_up(pair.b.qp);
  pair.b.bring_up(pair.a.qp);
  pair.settle();
}

TEST_CASE("the nth request of a list is refused, and those before it are posted") {
  SettledPair pair;
  rule("after 2 sends fail ENOMEM");
  std::array<ibv_sge, 3> sges{};
  std::array<ibv_send_wr, 3> wrs{};
  for (std::size_t i = 0; i < wrs.size(); ++i) {
    sges[i] = pair.a.sge(0, 8);
    wrs[i] = {.wr_id = i,
              .next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr,
              .sg_list = &sges[i],
              .num_sge = 1,
              .opcode = IBV_WR_RDMA_WRITE,
              .send_flags = IBV_SEND_SIGNALED};
    wrs[i].wr.rdma = {.remote_addr = pair.b.remote(0), .rkey = pair.b.mr->rkey};
  }
  ibv_send_wr* bad = nullptr;
  CHECK_EQ(ibv_post_send(pair.a.qp, wrs.data(), &bad), ENOMEM);
  CHECK_EQ(bad, &wrs[1]);
  CHECK_EQ(wrs[0].next, &wrs[1]);
  CHECK_EQ(success(pair.a.cq).wr_id, 0);
  REQUIRE_EQ(ibv_post_send(pair.a.qp, &wrs[1], &bad), 0);
  success(pair.a.cq);
  success(pair.a.cq);
}

TEST_CASE("built requests, receives and shared receives can fail, too") {
  SUBCASE("a request built with ibv_wr_*()") {
    SettledPair pair({.extended = true});
    rule("after 1 send fail EINVAL");
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(pair.a.qp);
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, pair.b.mr->rkey, pair.b.remote(0));
    ibv_wr_set_sge(qp, pair.a.mr->lkey, pair.a.remote(0), 8);
    CHECK_EQ(ibv_wr_complete(qp), EINVAL);
    pair.settle();
  }
  SUBCASE("a receive") {
    for (const bool shared : {false, true}) {
      End end({.shared_receives = shared});
      rule("after 1 receive fail ENOMEM");
      CHECK_EQ(end.post_recv(1, 0, 8), ENOMEM);
      CHECK_EQ(end.post_recv(1, 0, 8), 0);
    }
  }
}

TEST_CASE("an injected error moves a queue pair to ERR with an event, and its peer disconnects") {
  SettledPair pair({}, {}, kShort);
  REQUIRE_EQ(pair.a.post_recv(1, 0, 8), 0);
  REQUIRE_EQ(pair.b.post_recv(2, 0, 8), 0);
  rule("after 1 send error");
  write(pair.a, pair.b);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(next_event(pair.a), IBV_EVENT_QP_FATAL);
  faults::check_that_peer_is_gone(pair.b, pair.a);
  CHECK_EQ(pair.a.state(), IBV_QPS_ERR);
}

TEST_CASE("a queue pair without receives behaves as if none were posted") {
  Options options;
  SUBCASE("its own receive queue") {}
  SUBCASE("a shared receive queue") { options.shared_receives = true; }
  SUBCASE("for longer than the sender retries") {
    SettledPair pair;
    REQUIRE_EQ(pair.b.post_recv(1, 0, 8), 0);
    rule("after 1 send rnr 3600s");
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, 8), 0);
    // The rule affects only `a`; `b` still has its receive.
    CHECK_EQ(next(pair.a.cq).status, IBV_WC_SUCCESS);
    rule("after 1 receive rnr 3600s");
    REQUIRE_EQ(pair.b.post_recv(2, 0, 8), 0);
    success(pair.b.cq);
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, 8), 0);
    CHECK_EQ(next(pair.a.cq).status, IBV_WC_RNR_RETRY_EXC_ERR);
    return;
  }
  SettledPair pair(options);
  REQUIRE_EQ(pair.b.post_recv(1, 0, 8), 0);
  REQUIRE_EQ(pair.b.post_recv(2, 8, 8), 0);
  ibv_qp_attr attr{.min_rnr_timer = 1, .rnr_retry = 7};  // 7: no limit
  REQUIRE_EQ(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_RNR_RETRY), 0);
  REQUIRE_EQ(ibv_modify_qp(pair.b.qp, &attr, IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER), 0);
  rule("after 1 completion rnr 20ms");
  write(pair.b, pair.a);
  success(pair.b.cq);
  pair.a.write(0, "held off");
  REQUIRE_EQ(pair.b.post_recv(3, 16, 8), 0);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, 8), 0);
    CHECK_EQ(success(pair.b.cq).wr_id, i);
    success(pair.a.cq);
  }
  CHECK_EQ(pair.b.text(16, 8), "held off");
}

TEST_CASE("while a port is down its state says so, and data waits until it is up again") {
  SettledPair pair;
  CHECK_EQ(port_state(pair.a), IBV_PORT_ACTIVE);
  rule("now port down");
  CHECK_EQ(port_state(pair.a), IBV_PORT_DOWN);
  CHECK_EQ(next_event(pair.a), IBV_EVENT_PORT_ERR);
  CHECK_EQ(next_event(pair.b), IBV_EVENT_PORT_ERR);
  pair.b.write(0, "........");
  pair.a.write(0, "arrived!");
  write(pair.a, pair.b);
  CHECK(is_empty(pair.a.cq));
  CHECK_EQ(pair.b.text(0, 8), "........");
  rule("now port up");
  CHECK_EQ(port_state(pair.a), IBV_PORT_ACTIVE);
  CHECK_EQ(next_event(pair.a), IBV_EVENT_PORT_ACTIVE);
  success(pair.a.cq);
  CHECK_EQ(pair.b.text(0, 8), "arrived!");
}

TEST_CASE("requests fail if the port is down for longer than their timeouts") {
  SettledPair pair({}, {}, kShort);
  rule("now port down");
  write(pair.a, pair.b);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_RETRY_EXC_ERR);
  rule("now port up");
}

TEST_CASE("registrations and creations fail as the rule specifies") {
  End end;
  rule("after 2 registrations fail ENOMEM");
  ibv_mr* mr = must(ibv_reg_mr(end.pd, end.buffer.data(), 8, IBV_ACCESS_LOCAL_WRITE));
  errno = 0;
  CHECK_EQ(error_of(ibv_reg_mr(end.pd, end.buffer.data(), 8, IBV_ACCESS_LOCAL_WRITE)), ENOMEM);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  rule("every 1 creation fail EMFILE");
  errno = 0;
  CHECK_EQ(error_of(ibv_create_cq(end.context, 1, nullptr, nullptr, 0)), EMFILE);
  CHECK_EQ(ibv_alloc_pd(end.context), nullptr);
  ibv_srq_init_attr srq{.attr = {.max_wr = 1, .max_sge = 1}};
  CHECK_EQ(ibv_create_srq(end.pd, &srq), nullptr);
  ibv_qp_init_attr qp{.send_cq = end.cq, .recv_cq = end.cq, .qp_type = IBV_QPT_RC};
  CHECK_EQ(ibv_create_qp(end.pd, &qp), nullptr);
  CHECK_EQ(ibv_alloc_mw(end.pd, IBV_MW_TYPE_2), nullptr);
}
