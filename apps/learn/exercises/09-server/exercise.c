// SPDX-License-Identifier: Apache-2.0
// Exercise 9: a server for 100 clients, which connect in any order and stay connected.
#include "../recorded.h"

enum { CLIENTS = 100, RECEIVES = 2, MESSAGES = 4, SIZE = 32 };

struct client {
  struct rdma_cm_id* id;
  struct ibv_mr* mr;  // of `in` and `out`
  int answered;
  char in[RECEIVES][SIZE];   // for receives
  char out[MESSAGES][SIZE];  // for Sends
};

// A posted receive; its address is the wr_id. The wr_id of a Send is 0.
struct request {
  struct client* client;
  int slot;  // of `in`
};

static struct client clients[CLIENTS];
static struct request requests[CLIENTS][RECEIVES];
static struct rdma_event_channel* channel;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static int gone;  // number of clients that have disconnected

// Returns the next event, or null if there is none.
static inline struct rdma_cm_event* next_event(void) {
  struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
  struct rdma_cm_event* event = NULL;
  if (poll(&readable, 1, 0) == 1 && rdma_get_cm_event(channel, &event)) die("rdma_get_cm_event");
  return event;
}

static inline void post_receive(struct request* request) {
  struct client* client = request->client;
  struct ibv_sge piece = {(uintptr_t)client->in[request->slot], SIZE, client->mr->lkey};
  struct ibv_recv_wr *bad, recv = {.wr_id = (uintptr_t)request, .sg_list = &piece, .num_sge = 1};
  if (ibv_post_recv(client->id->qp, &recv, &bad)) die("ibv_post_recv");
}

// Sends a text to a client.
static inline void answer(struct client* client, const char* text) {
  char* out = client->out[client->answered++ % MESSAGES];
  memcpy(out, text, SIZE);
  struct ibv_sge piece = {(uintptr_t)out, SIZE, client->mr->lkey};
  struct ibv_send_wr *bad, send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND};
  send.send_flags = IBV_SEND_SIGNALED;
  if (ibv_post_send(client->id->qp, &send, &bad)) die("ibv_post_send");
}

int main(void) {
  const int peer = learn_meet();
  channel = rdma_create_event_channel();
  struct rdma_cm_id* listener;
  struct sockaddr_in address = {.sin_family = AF_INET};
  if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP)) die("rdma_create_id");
  if (rdma_bind_addr(listener, (struct sockaddr*)&address)) die("rdma_bind_addr");
  if (rdma_listen(listener, CLIENTS)) die("rdma_listen");
  const uint16_t port = rdma_get_src_port(listener);
  learn_put(peer, &port, sizeof port);

  /* Write here: until `gone` is CLIENTS, accept each client, send each message back, and destroy
   * what belongs to a client that has disconnected. */
  (void)clients, (void)requests;
  if (gone < CLIENTS) die("not written yet");

  learn_put(peer, "d", 1);
  ibv_destroy_cq(cq);
  ibv_dealloc_pd(pd);
  rdma_destroy_id(listener);
  rdma_destroy_event_channel(channel);
  return 0;
}
