// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 12: in each of three rounds, receives address, key and length of a window,
// writes a text into it and sends a message. The first message invalidates the window, and the
// others do not. After the last round the peer tries to write once more, which must be refused.
#define LEARN_PEER
#include "../recorded.h"

enum { ROUNDS = 3, SIZE = 64 };

static char text[SIZE];
static struct learn_end end;
static struct ibv_mr* mr;

// Returns the status of the next completion, or -1 if there is none.
static int status(void) {
  struct ibv_wc wc;
  return learn_wait(end.cq, &wc) ? (int)wc.status : -1;
}

int main(void) {
  const int program = learn_meet();
  learn_create(&end);
  mr = learn_register(end.pd, text, sizeof text, 0);
  learn_connect(&end, program);
  struct {
    uint64_t address;
    uint32_t rkey, length;
  } place;
  for (int round = 0; round < ROUNDS; round++) {
    if (!learn_hears(program)) return 0;
    learn_get(program, &place, sizeof place);
    learn_fill(text, SIZE, (unsigned)round);
    learn_post(end.qp, IBV_WR_RDMA_WRITE, mr, text, SIZE, place.address, place.rkey);
    const int written = status();
    saw("write", "%d %d", round, written);
    if (written != IBV_WC_SUCCESS) return 0;
    struct ibv_send_wr *bad, send = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    if (round == 0) {
      send.opcode = IBV_WR_SEND_WITH_INV;
      send.invalidate_rkey = place.rkey;
    }
    if (ibv_post_send(end.qp, &send, &bad)) die("ibv_post_send");
    const int told = status();
    saw("told", "%d %d", round, told);
    if (told != IBV_WC_SUCCESS) return 0;
  }
  char done;
  if (!learn_hears(program)) return 0;
  learn_get(program, &done, 1);
  learn_post(end.qp, IBV_WR_RDMA_WRITE, mr, text, SIZE, place.address, place.rkey);
  saw("late_write", "%s", status() == IBV_WC_SUCCESS ? "accepted" : "refused");
  learn_sync(program);
  return 0;
}
