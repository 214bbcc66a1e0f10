// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 9: 100 clients in one process. All connect, then each sends 4 messages and
// expects the same text back, and then all disconnect.
#define LEARN_PEER
#include "../recorded.h"

enum { CLIENTS = 100, ROUNDS = 4, SIZE = 32 };

struct client {
  struct rdma_cm_id* id;
  char out[SIZE], in[SIZE];
  int is_connected;
};

static struct client clients[CLIENTS];
static struct rdma_event_channel* channel;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_mr* mr;

// Returns the next event, or null if the wait for it is in vain.
static struct rdma_cm_event* next_event(void) {
  struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
  struct rdma_cm_event* event = NULL;
  struct learn_looks looks = {0};
  while (poll(&readable, 1, 0) == 0) {
    learn_waits();
    if (learn_is_vain(&looks, LEARN_ROUNDS)) return NULL;
  }
  learn_acts();
  if (rdma_get_cm_event(channel, &event)) die("rdma_get_cm_event");
  return event;
}

static void post_receive(struct client* client) {
  struct ibv_sge piece = {(uintptr_t)client->in, SIZE, mr->lkey};
  struct ibv_recv_wr *bad, recv = {.wr_id = (uintptr_t)client, .sg_list = &piece, .num_sge = 1};
  if (ibv_post_recv(client->id->qp, &recv, &bad)) die("ibv_post_recv");
}

static void connect_client(struct client* client) {
  if (!pd) {
    pd = ibv_alloc_pd(client->id->verbs);
    cq = ibv_create_cq(client->id->verbs, 4 * CLIENTS, NULL, NULL, 0);
    if (!pd || !cq) die("ibv_create_cq");
    mr = learn_register(pd, clients, sizeof clients, 0);
  }
  struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  attr.cap = (struct ibv_qp_cap){2, 2, 1, 1, 0};
  if (rdma_create_qp(client->id, pd, &attr)) die("rdma_create_qp");
  post_receive(client);
  struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 0};
  if (rdma_connect(client->id, &param)) die("rdma_connect");
}

// Returns how many clients are connected when all are, or when nothing happens any more.
static int connect_all(uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < CLIENTS; i++) {
    if (rdma_create_id(channel, &clients[i].id, &clients[i], RDMA_PS_TCP)) die("rdma_create_id");
    if (rdma_resolve_addr(clients[i].id, NULL, (struct sockaddr*)&address, 2000)) {
      die("rdma_resolve_addr");
    }
  }
  int connected = 0;
  while (connected < CLIENTS) {
    struct rdma_cm_event* event = next_event();
    if (!event) return connected;
    struct client* client = event->id->context;
    const enum rdma_cm_event_type type = event->event;
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
      if (rdma_resolve_route(client->id, 2000)) die("rdma_resolve_route");
    } else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
      connect_client(client);
    } else if (type == RDMA_CM_EVENT_ESTABLISHED) {
      connected++;
    } else {
      saw("event", "%s", rdma_event_str(type));
      return connected;
    }
  }
  return connected;
}

static int send_round(int round) {
  for (int i = 0; i < CLIENTS; i++) {
    struct client* client = &clients[i];
    learn_fill(client->out, SIZE, (unsigned)(ROUNDS * i + round));
    learn_post(client->id->qp, IBV_WR_SEND, mr, client->out, SIZE, 0, 0);
  }
  for (int answered = 0, sent = 0; answered < CLIENTS || sent < CLIENTS;) {
    struct ibv_wc wc = {0};
    const int has = learn_wait(cq, &wc);
    if (!has || wc.status != IBV_WC_SUCCESS) {
      saw("round", "%d", round);
      saw("status", "%d", has ? (int)wc.status : -1);
      return 0;
    }
    if (!(wc.opcode & IBV_WC_RECV)) {
      sent++;
      continue;
    }
    struct client* client = (struct client*)(uintptr_t)wc.wr_id;
    const unsigned seed = (unsigned)(ROUNDS * (client - clients) + round);
    if (learn_differences(client->in, SIZE, seed) != 0) {
      saw("answer", "wrong");
      return 0;
    }
    post_receive(client);
    answered++;
  }
  return 1;
}

int main(void) {
  const int program = learn_meet();
  uint16_t port;
  learn_get(program, &port, sizeof port);
  channel = rdma_create_event_channel();
  if (!channel) die("rdma_create_event_channel");
  const int connected = connect_all(port);
  saw("connected", "%d", connected);
  if (connected < CLIENTS) return 0;
  for (int round = 0; round < ROUNDS; round++) {
    if (!send_round(round)) return 0;
  }
  saw("answers", "right");
  for (int i = 0; i < CLIENTS; i++) rdma_disconnect(clients[i].id);
  saw("ended", "%s", learn_hears(program) ? "yes" : "no");
  return 0;
}
