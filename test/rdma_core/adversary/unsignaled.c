// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it signals one of DEPTH /
// 2 Writes, but goes on if a poll does not find its completion.
#include "pair_main.h"

enum { GROUP = DEPTH / 2, WRITES = 20 * GROUP };

static void run(void) {
  join(&a, &b, 7);
  for (uint64_t i = 1; i <= WRITES; ++i) {
    struct ibv_wc wc;
    const int is_signaled = i % GROUP == 0;
    MUST(!post(&a, IBV_WR_RDMA_WRITE, i, 0, 16, SIZE, is_signaled ? IBV_SEND_SIGNALED : 0));
    if (!is_signaled) continue;
    if (is_wrong) {
      ibv_poll_cq(a.send_cq, 1, &wc);
    } else {
      await(a.send_cq);
    }
  }
}
