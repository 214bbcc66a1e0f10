// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it announces a Write by a
// Write on a second queue pair.
#include "pair_main.h"

static void run(void) {
  struct end second = make_end(NULL, NULL, NULL);
  struct end its_peer = make_end(NULL, NULL, NULL);
  MUST(!post_recv(&b, 0));
  join(&a, &b, 7);
  join(&second, &its_peer, 7);
  memory[0] = 7;
  MUST(!post(&a, IBV_WR_RDMA_WRITE, 1, 0, 1, SIZE, IBV_SEND_SIGNALED));
  if (is_wrong) {
    MUST(!post(&second, IBV_WR_RDMA_WRITE, 2, 0, 1, SIZE + 64, IBV_SEND_SIGNALED));
    while (memory[SIZE + 64] == 0) {
    }
  } else {
    MUST(!post_send(&a, 2));
    await(b.recv_cq);
  }
  MUST(memory[SIZE] == 7);
}
