// SPDX-License-Identifier: Apache-2.0
// Exercise 7: answer three peers whose messages share one queue of receives.
#include "../recorded.h"

enum { PEERS = 3, COUNT = 30, SIZE = 48, SLOTS = 8 };

static char messages[SLOTS][SIZE];  // for the receives
static char answers[COUNT][SIZE];   // for the Sends
static struct learn_end ends[PEERS];

int main(void) {
  const int peer = learn_meet();
  struct ibv_context* context = learn_open();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 256, NULL, NULL, 0);
  if (!pd || !cq) die("ibv_create_cq");
  struct ibv_mr* mr = learn_register(pd, messages, sizeof messages, 0);
  struct ibv_mr* answers_mr = learn_register(pd, answers, sizeof answers, 0);
  for (int i = 0; i < PEERS; i++) {
    ends[i] =
        (struct learn_end){.context = context, .pd = pd, .cq = cq, .rnr_retry = learn_no_retry};
  }
  struct ibv_srq* srq = NULL;
  int completed = 0;  // number of answers that are complete

  struct ibv_srq_init_attr attr = {.attr = {.max_wr = SLOTS, .max_sge = 1}};
  srq = ibv_create_srq(pd, &attr);
  if (!srq) die("ibv_create_srq");
  struct ibv_recv_wr* bad_recv;
  for (int slot = 0; slot < SLOTS; slot++) {
    struct ibv_sge piece = {(uintptr_t)messages[slot], SIZE, mr->lkey};
    struct ibv_recv_wr recv = {.wr_id = (uint64_t)slot, .sg_list = &piece, .num_sge = 1};
    if (ibv_post_srq_recv(srq, &recv, &bad_recv)) die("ibv_post_srq_recv");
  }
  for (int i = 0; i < PEERS; i++) {
    ends[i].srq = srq;
    learn_connect(&ends[i], peer);
  }
  learn_sync(peer);
  for (int answered = 0; completed < COUNT;) {
    const struct ibv_wc wc = learn_await(cq);
    if (!(wc.opcode & IBV_WC_RECV)) {
      completed++;
      continue;
    }
    char* message = messages[wc.wr_id];
    char* answer = answers[answered];
    memcpy(answer, message, SIZE);
    struct ibv_sge piece = {(uintptr_t)message, SIZE, mr->lkey};
    struct ibv_recv_wr recv = {.wr_id = wc.wr_id, .sg_list = &piece, .num_sge = 1};
    if (ibv_post_srq_recv(srq, &recv, &bad_recv)) die("ibv_post_srq_recv");
    int from = 0;
    while (ends[from].qp->qp_num != wc.qp_num) from++;
    struct ibv_sge text = {(uintptr_t)answer, SIZE, answers_mr->lkey};
    struct ibv_send_wr* bad;
    struct ibv_send_wr send = {.wr_id = 100, .sg_list = &text, .num_sge = 1};
    send.opcode = IBV_WR_SEND;
    send.send_flags = IBV_SEND_SIGNALED;
    if (ibv_post_send(ends[from].qp, &send, &bad)) die("ibv_post_send");
    answered++;
  }

  learn_sync(peer);
  for (int i = 0; i < PEERS; i++) ibv_destroy_qp(ends[i].qp);
  ibv_destroy_srq(srq);
  ibv_destroy_cq(cq);
  ibv_dereg_mr(mr);
  ibv_dereg_mr(answers_mr);
  return 0;
}
