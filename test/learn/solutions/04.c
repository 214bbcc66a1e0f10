// SPDX-License-Identifier: Apache-2.0
// Exercise 4: write into the memory of the peer, and tell the peer when the text is there.
#include "../recorded.h"

static char text[4096];

/* Where the peer wants the text. */
struct place {
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {0};
  learn_connect(&end, peer);
  struct ibv_mr* mr = learn_register(end.pd, text, sizeof text, 0);
  struct place place;
  learn_get(peer, &place, sizeof place);

  for (int round = 0; round < 2; round++) {
    memset(text, 'a' + round, sizeof text);

    struct ibv_sge piece = {.addr = (uintptr_t)text, .length = sizeof text, .lkey = mr->lkey};
    struct ibv_send_wr tell = {.wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr write = {
        .wr_id = 1, .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    write.wr.rdma.remote_addr = place.address;
    write.wr.rdma.rkey = place.rkey;
    struct ibv_send_wr* bad;
    if (ibv_post_send(end.qp, &write, &bad)) die("ibv_post_send");
    if (ibv_post_send(end.qp, &tell, &bad)) die("ibv_post_send");
    learn_await(end.cq); /* of the message, so that the Write before it is complete, too */

    char next;
    if (round == 0) memset(text, '.', sizeof text); /* the program needs the buffer again */
    learn_get(peer, &next, 1);                      /* the peer has looked at the text */
  }

  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(mr);
  return 0;
}
