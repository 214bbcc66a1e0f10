// SPDX-License-Identifier: Apache-2.0
// Exercise 5: offer memory to the peer, which reads it and writes into it.
#include <endian.h>

#include "../recorded.h"

/* What the peer expects in one message: three numbers in network byte order. */
struct offer {
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

static char text[256];
static struct offer offer;

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {0};
  learn_create(&end);
  learn_fill(text, sizeof text, 5);

  struct ibv_mr* text_mr = NULL;
  struct ibv_mr* offer_mr = NULL;

  text_mr =
      learn_register(end.pd, text, sizeof text, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  offer_mr = learn_register(end.pd, &offer, sizeof offer, 0);
  struct ibv_recv_wr answer = {.wr_id = 1}, *bad_answer;
  if (ibv_post_recv(end.qp, &answer, &bad_answer)) die("ibv_post_recv");
  offer.address = htobe64((uintptr_t)text);
  offer.rkey = htobe32(text_mr->rkey);
  offer.length = htobe32(sizeof text);
  learn_connect(&end, peer);
  struct ibv_sge piece = {
      .addr = (uintptr_t)&offer, .length = sizeof offer, .lkey = offer_mr->lkey};
  struct ibv_send_wr send = {.wr_id = 2,
                             .sg_list = &piece,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad;
  if (ibv_post_send(end.qp, &send, &bad)) die("ibv_post_send");

  learn_await(end.cq); /* the Send is complete, or the answer is there */
  learn_await(end.cq); /* both */
  if (learn_differences(text, sizeof text, 6) != 0) die("the peer's text is not there");
  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(text_mr);
  ibv_dereg_mr(offer_mr);
  return 0;
}
