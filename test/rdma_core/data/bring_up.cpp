// SPDX-License-Identifier: Apache-2.0
// Tests queue pairs that are brought up without the CM: the attributes that each state requires,
// and the results of queries.
#include "bring_up.hpp"

#include <sys/resource.h>

namespace {

using namespace data;

TEST_CASE("a queue pair in RTR reports RTR, even if it has been connected for a while") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp);
  make_ready_to_receive(b, a.qp);
  REQUIRE_EQ(modify(a, b.qp, IBV_QPS_RTS, kToRts), 0);
  read_from(a, b);  // This Read completes only if the queue pairs are connected.
  CHECK_EQ(b.state(), IBV_QPS_RTR);
  CHECK_EQ(b.qp->state, IBV_QPS_RTR);
  REQUIRE_EQ(modify(b, a.qp, IBV_QPS_RTS, kToRts), 0);
  CHECK_EQ(b.state(), IBV_QPS_RTS);
  read_from(b, a);
}

TEST_CASE("a request posted as soon as possible is sent before its memory is deregistered") {
  Pair pair;
  auto& [a, b] = pair;
  ibv_mr* const source = must(ibv_reg_mr(a.pd, a.buffer.data(), 64, +IBV_ACCESS_LOCAL_WRITE));
  ibv_sge sge{.addr = a.remote(0), .length = 64, .lkey = source->lkey};
  ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
  wr.wr.rdma = {.remote_addr = b.remote(0), .rkey = b.mr->rkey};
  REQUIRE_EQ(post_send(a.qp, wr), 0);
  CHECK_EQ(ibv_dereg_mr(source), 0);
  success(a.cq);
}

TEST_CASE("if no descriptor is free, bring-up fails with the reason") {
  End a;
  End b;
  REQUIRE_EQ(modify(a, b.qp, IBV_QPS_INIT, kToInit), 0);
  ibv_qp_attr attr = attributes(a, b.qp, IBV_QPS_RTR);
  rlimit before{};
  REQUIRE_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int code = ibv_modify_qp(a.qp, &attr, kToRtr);
  REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  CHECK_EQ(code, EMFILE);
  CHECK_EQ(a.state(), IBV_QPS_INIT);
  REQUIRE_EQ(modify(a, b.qp, IBV_QPS_RTR, kToRtr), 0);
}

TEST_CASE("queue pair numbers are reused as late as possible") {
  End end;
  for (int i = 0; i < 100; ++i) {
    const auto before = end.qp->qp_num;
    renew(end);
    CHECK_NE(end.qp->qp_num, before);
  }
}

}  // namespace
