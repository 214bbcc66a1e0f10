// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it changes the buffer of a
// Send before the Send has completed.
#include "pair_main.h"

enum { MESSAGES = 8 };

static void run(void) {
  join(&a, &b, 7);
  for (int i = 0; i < MESSAGES; ++i) {
    MUST(!post_recv(&b, (uint64_t)i));
    memory[0] = (uint8_t)i;
    MUST(!post_send(&a, (uint64_t)i));
    if (!is_wrong) await(a.send_cq);
    memory[0] = 99;
    if (is_wrong) await(a.send_cq);
    await(b.recv_cq);
    MUST(memory[2 * SIZE + i * 64] == i);
  }
}
