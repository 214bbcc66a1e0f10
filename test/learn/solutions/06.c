// SPDX-License-Identifier: Apache-2.0
// Exercise 6: send 60 messages to a peer that has receives for only a few of them.
#include "../recorded.h"

enum { COUNT = 60, SIZE = 64, GRANTS = 4 };

static char messages[4][SIZE];  /* buffers of the Sends */
static uint32_t grants[GRANTS]; /* buffers of the receives: how many more messages may be sent */

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {.depth = 8, .rnr_retry = learn_no_retry};
  learn_create(&end);
  struct ibv_mr* mr = learn_register(end.pd, messages, sizeof messages, 0);
  struct ibv_mr* grants_mr = learn_register(end.pd, grants, sizeof grants, 0);
  int sent = 0; /* number of messages that were sent */

  uint32_t credits = 0;
  int completed = 0; /* number of messages whose buffers are free again */
  struct ibv_recv_wr* bad_recv;
  for (int i = 0; i < GRANTS; i++) {
    struct ibv_sge piece = {(uintptr_t)&grants[i], sizeof grants[i], grants_mr->lkey};
    struct ibv_recv_wr recv = {.wr_id = (uint64_t)i, .sg_list = &piece, .num_sge = 1};
    if (ibv_post_recv(end.qp, &recv, &bad_recv)) die("ibv_post_recv");
  }
  learn_connect(&end, peer);
  while (completed < COUNT) {
    while (sent < COUNT && credits > 0 && sent - completed < 4) {
      char* message = messages[sent % 4];
      learn_fill(message, SIZE, (unsigned)sent);
      struct ibv_sge piece = {(uintptr_t)message, SIZE, mr->lkey};
      struct ibv_send_wr* bad;
      struct ibv_send_wr send = {.wr_id = 100,
                                 .sg_list = &piece,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED};
      if (ibv_post_send(end.qp, &send, &bad)) die("ibv_post_send");
      sent++;
      credits--;
    }
    const struct ibv_wc wc = learn_await(end.cq);
    if (wc.opcode & IBV_WC_RECV) {
      uint32_t* grant = &grants[wc.wr_id];
      credits += *grant;
      struct ibv_sge piece = {(uintptr_t)grant, sizeof *grant, grants_mr->lkey};
      struct ibv_recv_wr recv = {.wr_id = wc.wr_id, .sg_list = &piece, .num_sge = 1};
      if (ibv_post_recv(end.qp, &recv, &bad_recv)) die("ibv_post_recv");
    } else {
      completed++;
    }
  }

  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(mr);
  ibv_dereg_mr(grants_mr);
  return 0;
}
