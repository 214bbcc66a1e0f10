// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it swaps the lkey and the
// rkey.
#include "pair_main.h"

static void run(void) {
  join(&a, &b, 7);
  if (is_wrong) {
    const uint32_t key = mr->lkey;
    mr->lkey = mr->rkey;
    mr->rkey = key;
  }
  MUST(!post(&a, IBV_WR_RDMA_WRITE, 1, 0, 16, SIZE, IBV_SEND_SIGNALED));
  await(a.send_cq);
}
