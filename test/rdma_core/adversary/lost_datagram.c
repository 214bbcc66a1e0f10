// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. It sends numbered datagrams. With the argument
// "wrong" it expects that each one arrives, and in order; otherwise it sends those that have not
// arrived again.
#include <time.h>

#include "pair.h"

enum { COUNT = 64, GRH = 40, QKEY = 7 };

static struct ibv_qp* make_datagram_qp(struct ibv_cq* cq) {
  struct ibv_qp_init_attr init = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
  MUST(qp && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  attr.qp_state = IBV_QPS_RTR;
  MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
  attr.qp_state = IBV_QPS_RTS;
  MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
  return qp;
}

static void post_buffer(struct ibv_qp* qp) {
  struct ibv_recv_wr* bad;
  struct ibv_sge sge = {(uintptr_t)&memory[SIZE], GRH + 4, mr->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
  MUST(!ibv_post_recv(qp, &wr, &bad));
}

static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char** argv) {
  begin(argc, argv, NULL);
  struct ibv_cq* cq = make_cq(0);
  struct ibv_cq* arrivals = make_cq(0);
  struct ibv_qp* from = make_datagram_qp(cq);
  struct ibv_qp* to = make_datagram_qp(arrivals);
  struct ibv_ah_attr way = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}};
  MUST(!ibv_query_gid(context, 1, 0, &way.grh.dgid));
  struct ibv_ah* ah = ibv_create_ah(pd, &way);
  MUST(ah);
  post_buffer(to);
  for (uint32_t number = 1; number <= COUNT;) {
    *(volatile uint32_t*)memory = number;
    struct ibv_send_wr* bad;
    struct ibv_sge sge = {(uintptr_t)memory, 4, mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {.ah = ah, .remote_qpn = to->qp_num, .remote_qkey = QKEY}};
    MUST(!ibv_post_send(from, &wr, &bad));
    await(cq);
    struct ibv_wc wc;
    const long deadline = milliseconds() + 50;
    while (number <= COUNT && (is_wrong || milliseconds() < deadline)) {
      if (ibv_poll_cq(arrivals, 1, &wc) != 1) continue;
      MUST(wc.status == IBV_WC_SUCCESS);
      const uint32_t got = *(volatile uint32_t*)&memory[SIZE + GRH];
      post_buffer(to);
      if (got == number) ++number; /* an older one is a duplicate that came late */
      break;
    }
  }
  return 0;
}
