// SPDX-License-Identifier: Apache-2.0
// Exercise 12: let the peer write into one part of the memory at a time, and only for one message.
#include "../recorded.h"

enum { ROUNDS = 3, SIZE = 64 };

// What the peer is told: where it may write.
struct place {
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

static struct learn_end end;
static char memory[ROUNDS][SIZE];

static void post_receive(void) {
  struct ibv_recv_wr *bad, recv = {.wr_id = 1};
  if (ibv_post_recv(end.qp, &recv, &bad)) die("ibv_post_recv");
}

int main(void) {
  const int peer = learn_meet();
  learn_create(&end);
  for (int round = 0; round < ROUNDS; round++) post_receive();
  learn_connect(&end, peer);
  struct ibv_mr* mr = NULL;
  struct ibv_mw* mw = NULL;
  int rounds = 0;  // number of rounds that are done

  mr = learn_register(end.pd, memory, sizeof memory, IBV_ACCESS_MW_BIND);
  mw = ibv_alloc_mw(end.pd, IBV_MW_TYPE_2);
  if (!mw) die("ibv_alloc_mw");
  uint32_t rkey = mw->rkey;
  for (; rounds < ROUNDS; rounds++) {
    struct ibv_send_wr* bad;
    rkey = ibv_inc_rkey(rkey);
    struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
    bind.bind_mw.mw = mw;
    bind.bind_mw.rkey = rkey;
    bind.bind_mw.bind_info =
        (struct ibv_mw_bind_info){mr, (uintptr_t)memory[rounds], SIZE, IBV_ACCESS_REMOTE_WRITE};
    if (ibv_post_send(end.qp, &bind, &bad)) die("ibv_post_send");
    learn_await(end.cq);
    const struct place place = {(uintptr_t)memory[rounds], rkey, SIZE};
    learn_put(peer, &place, sizeof place);
    const struct ibv_wc wc = learn_await(end.cq);
    if ((wc.wc_flags & IBV_WC_WITH_INV) && wc.invalidated_rkey == rkey) continue;
    struct ibv_send_wr invalidate = {.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED};
    invalidate.invalidate_rkey = rkey;
    if (ibv_post_send(end.qp, &invalidate, &bad)) die("ibv_post_send");
    learn_await(end.cq);
  }

  for (int round = 0; round < ROUNDS; round++) {
    if (learn_differences(memory[round], SIZE, (unsigned)round) != 0) die("text %d", round);
  }
  learn_put(peer, "d", 1);
  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dealloc_mw(mw);
  ibv_dereg_mr(mr);
  return 0;
}
