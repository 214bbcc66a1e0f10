// SPDX-License-Identifier: Apache-2.0
// Tests a queue pair that is connected to itself and receives its own messages.
#include "bring_up.hpp"

namespace {

using namespace data;

void check_all_operations(End& end) {
  end.write(0, "to myself");
  REQUIRE_EQ(end.post_rdma(IBV_WR_RDMA_WRITE, end, 0, 9, 100), 0);
  ibv_wc wc = success(end.cq);
  CHECK_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
  CHECK_EQ(wc.qp_num, end.qp->qp_num);

  REQUIRE_EQ(end.post_rdma(IBV_WR_RDMA_READ, end, 200, 9, 100), 0);
  CHECK_EQ(success(end.cq).qp_num, end.qp->qp_num);
  CHECK_EQ(end.text(100, 9), "to myself");  // The Write was placed before the Read completed.
  CHECK_EQ(end.text(200, 9), "to myself");

  end.word(512) = 40;
  REQUIRE_EQ(end.post_add(end, 512, 2, 520), 0);
  success(end.cq);
  CHECK_EQ(end.word(520), 40);
  CHECK_EQ(end.word(512), 42);
}

void check_send(End& end) {
  end.write(0, "a message");
  REQUIRE_EQ(end.post({.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, 9),
             0);
  bool sent = false;
  bool received = false;
  while (!sent || !received) {
    const ibv_wc wc = success(end.cq);
    CHECK_EQ(wc.qp_num, end.qp->qp_num);
    (wc.opcode == IBV_WC_RECV ? received : sent) = true;
    if (wc.opcode == IBV_WC_RECV) CHECK_EQ(wc.byte_len, 9);
  }
  CHECK_EQ(end.text(300, 9), "a message");
}

TEST_CASE("a queue pair connected to itself receives what it sends, also after a reset") {
  for (const bool shared : {false, true}) {
    CAPTURE(shared);
    End end({.shared_receives = shared});
    for (int i = 0; i < 3; ++i) {
      CAPTURE(i);
      REQUIRE_EQ(modify(end, end.qp, IBV_QPS_INIT, kToInit), 0);
      REQUIRE_EQ(end.post_recv(2, 300, 100), 0);
      REQUIRE_EQ(modify(end, end.qp, IBV_QPS_RTR, kToRtr), 0);
      make_ready_to_send(end, end.qp);
      check_send(end);
      check_all_operations(end);
      CHECK_EQ(end.state(), IBV_QPS_RTS);
      REQUIRE_EQ(end.modify(IBV_QPS_RESET), 0);
    }
  }
}

TEST_CASE("if a queue pair connected to itself breaks a rule, only it moves to ERR") {
  End end;
  Pair others;
  end.bring_up(end.qp);
  REQUIRE_EQ(end.post_recv(7, 300, 100), 0);
  REQUIRE_EQ(end.post_to(IBV_WR_RDMA_READ, end.remote(0), ~end.mr->rkey, 9, 8), 0);
  bool sent = false;
  bool flushed = false;
  while (!sent || !flushed) {
    const ibv_wc wc = next(end.cq);
    CHECK_EQ(wc.qp_num, end.qp->qp_num);
    CHECK_NE(wc.status, IBV_WC_SUCCESS);
    (wc.wr_id == 9 ? sent : flushed) = true;
  }
  others.settle();
  REQUIRE_EQ(end.modify(IBV_QPS_RESET), 0);
  end.bring_up(end.qp);
  check_all_operations(end);
}

TEST_CASE("unsent requests of a queue pair connected to itself are flushed when it fails") {
  End end;
  end.bring_up(end.qp);
  REQUIRE_EQ(end.post({.wr_id = 5, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, 9),
             0);  // No receive is posted for this Send.
  REQUIRE_EQ(end.post_rdma(IBV_WR_RDMA_READ, end, 8, 8, 100), 0);
  REQUIRE_EQ(end.modify(IBV_QPS_ERR), 0);
  ibv_wc wc = next(end.cq);
  while (wc.wr_id != 8) wc = next(end.cq);
  CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(wc.qp_num, end.qp->qp_num);
}

}  // namespace
