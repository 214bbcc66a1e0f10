// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it takes the completion of
// a Send for a sign that the receiver has posted its receive again.
#include "pair_main.h"

enum { RECEIVES = 2, MESSAGES = 40 };

static void run(void) {
  for (uint64_t i = 0; i < RECEIVES; ++i) MUST(!post_recv(&b, i));
  join(&a, &b, 0);
  for (uint64_t i = 0; i < MESSAGES; ++i) {
    struct ibv_wc wc;
    MUST(!post_send(&a, i));
    await(a.send_cq);
    if (is_wrong) {
      if (ibv_poll_cq(b.recv_cq, 1, &wc) == 1) MUST(!post_recv(&b, wc.wr_id));
    } else {
      MUST(!post_recv(&b, await(b.recv_cq)));
    }
  }
}
