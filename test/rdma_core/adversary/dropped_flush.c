// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it takes an empty queue
// for a sign that all requests have been flushed, and frees their memory.
#include "pair_main.h"

static void run(void) {
  for (uint64_t i = 0; i < DEPTH; ++i) MUST(!post_recv(&b, i));
  join(&a, &b, 7);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  MUST(!ibv_modify_qp(b.qp, &attr, IBV_QP_STATE));
  int flushed = 0;
  for (struct ibv_wc wc; flushed < DEPTH;) {
    const int n = ibv_poll_cq(b.recv_cq, 1, &wc);
    if (n == 0 && is_wrong) break;
    if (n == 1) MUST(wc.status == IBV_WC_WR_FLUSH_ERR);
    flushed += n;
  }
  MUST(flushed == DEPTH);
}
