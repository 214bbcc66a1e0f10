// SPDX-License-Identifier: Apache-2.0
// Exercise 8: answer 40 messages, and sleep while there is none.
#include "../recorded.h"

enum { COUNT = 40, SIZE = 32, SLOTS = 16 };

static char messages[SLOTS][SIZE];  // for the receives
static char answers[COUNT][SIZE];   // for the Sends
static struct learn_end end = {.depth = COUNT};
static struct ibv_mr *mr, *answers_mr;
static int answered;   // number of messages that were received and sent back
static int completed;  // number of Sends that are complete

static void post_receive(int slot) {
  struct ibv_sge piece = {(uintptr_t)messages[slot], SIZE, mr->lkey};
  struct ibv_recv_wr* bad;
  struct ibv_recv_wr recv = {.wr_id = (uint64_t)slot, .sg_list = &piece, .num_sge = 1};
  if (ibv_post_recv(end.qp, &recv, &bad)) die("ibv_post_recv");
}

// Takes a completion. Sends a message back, and posts its receive again.
static inline void take(const struct ibv_wc* wc) {
  if (wc->status != IBV_WC_SUCCESS) die("status %s", ibv_wc_status_str(wc->status));
  if (!(wc->opcode & IBV_WC_RECV)) {
    completed++;
    return;
  }
  char* answer = answers[answered++ % COUNT];
  memcpy(answer, messages[wc->wr_id], SIZE);
  post_receive((int)wc->wr_id);
  struct ibv_sge piece = {(uintptr_t)answer, SIZE, answers_mr->lkey};
  struct ibv_send_wr* bad;
  struct ibv_send_wr send = {.wr_id = 100, .sg_list = &piece, .num_sge = 1};
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  if (ibv_post_send(end.qp, &send, &bad)) die("ibv_post_send");
}

int main(void) {
  const int peer = learn_meet();
  end.context = learn_open();
  end.channel = ibv_create_comp_channel(end.context);
  if (!end.channel) die("ibv_create_comp_channel");
  learn_create(&end);
  mr = learn_register(end.pd, messages, sizeof messages, 0);
  answers_mr = learn_register(end.pd, answers, sizeof answers, 0);
  for (int slot = 0; slot < SLOTS; slot++) post_receive(slot);
  const int epoll = epoll_create1(0);
  struct epoll_event wanted = {.events = EPOLLIN};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, end.channel->fd, &wanted)) die("epoll_ctl");

  learn_connect(&end, peer);
  if (ibv_req_notify_cq(end.cq, 0)) die("ibv_req_notify_cq");
  for (;;) {
    struct ibv_wc wc;
    while (ibv_poll_cq(end.cq, 1, &wc) > 0) take(&wc);
    if (completed == COUNT) break;
    if (epoll_wait(epoll, &wanted, 1, 2000) != 1) die("no event for 2 seconds");
    struct ibv_cq* cq;
    void* context;
    if (ibv_get_cq_event(end.channel, &cq, &context)) die("ibv_get_cq_event");
    ibv_ack_cq_events(cq, 1);
    if (ibv_req_notify_cq(cq, 0)) die("ibv_req_notify_cq");
  }

  learn_sync(peer);
  close(epoll);
  learn_disconnect(&end);
  ibv_destroy_comp_channel(end.channel);
  ibv_dereg_mr(mr);
  ibv_dereg_mr(answers_mr);
  return 0;
}
