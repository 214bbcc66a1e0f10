// SPDX-License-Identifier: Apache-2.0
// Exercise 3: ping-pong. The text is in README.md beside this file.
#include "../recorded.h"

enum { ROUNDS = 100, LENGTH = 256 };

/* One buffer for what the program sends, and one for what it receives. */
static char out[LENGTH], in[LENGTH];

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {.depth = 4};
  learn_create(&end); /* the queue pair is in INIT */
  struct ibv_mr* out_mr = learn_register(end.pd, out, LENGTH, 0);
  struct ibv_mr* in_mr = learn_register(end.pd, in, LENGTH, 0);

  /* Write here: call learn_connect(&end, peer). Then send a message of LENGTH bytes, and wait for
   * the answer of the peer, ROUNDS times. Fill message i, from 0 on, with learn_fill(out, LENGTH,
   * i). The answer must be what learn_fill() writes for 1000 + i. */
  die("not written yet");

  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(out_mr);
  ibv_dereg_mr(in_mr);
  return 0;
}
