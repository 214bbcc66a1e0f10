// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it arms the queue after it
// has polled it empty, and sleeps without polling once more.
#include "pair_main.h"

enum { ROUNDS = 6, MESSAGES = 2 };

static void run(void) {
  for (uint64_t i = 0; i < ROUNDS * MESSAGES; ++i) MUST(!post_recv(&b, i));
  MUST(!ibv_req_notify_cq(b.recv_cq, 0));
  join(&a, &b, 7);
  uint64_t got = 0;
  for (uint64_t round = 1; round <= ROUNDS; ++round) {
    for (int i = 0; i < MESSAGES; ++i) MUST(!post_send(&a, 0));
    while (got < round * MESSAGES) {
      struct ibv_cq* cq;
      void* unused;
      struct ibv_wc wc;
      MUST(!ibv_get_cq_event(channel, &cq, &unused));
      ibv_ack_cq_events(cq, 1);
      if (!is_wrong) MUST(!ibv_req_notify_cq(cq, 0));
      while (ibv_poll_cq(cq, 1, &wc) == 1) ++got;
      if (is_wrong) MUST(!ibv_req_notify_cq(cq, 0));
    }
    for (int i = 0; i < MESSAGES; ++i) await(a.send_cq);
  }
}
