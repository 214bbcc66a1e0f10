// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it waits for the last
// octet of a Write, and takes the other octets for placed.
#include "pair_main.h"

enum { LENGTH = 256 };

static void run(void) {
  MUST(!post_recv(&b, 0));
  join(&a, &b, 7);
  memset((void*)memory, 'n', LENGTH);
  MUST(!post(&a, IBV_WR_RDMA_WRITE, 1, 0, LENGTH, SIZE, IBV_SEND_SIGNALED));
  if (is_wrong) {
    while (memory[SIZE + LENGTH - 1] != 'n') {
    }
  } else {
    MUST(!post_send(&a, 2));
    await(b.recv_cq);
  }
  for (uint64_t i = 0; i < LENGTH; ++i) MUST(memory[SIZE + i] == 'n');
}
