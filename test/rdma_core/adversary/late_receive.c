// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" the server posts its first
// receive when it has looked for messages, although the client sends at once.
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>

#include "pair.h"

static atomic_int is_sent;

static void make_qp(struct rdma_cm_id* id, struct end* out) {
  struct ibv_qp_init_attr init = {
      .send_cq = make_cq(0), .recv_cq = make_cq(0), .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(!rdma_create_qp(id, pd, &init));
  *out = (struct end){.qp = id->qp, .send_cq = id->qp->send_cq, .recv_cq = id->qp->recv_cq};
}

/* Connects to the port of the listener, and sends one message. */
static void* run_client(void* listener) {
  struct rdma_cm_id* id;
  struct end me;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = rdma_get_src_port(listener),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct rdma_conn_param parameters = {.rnr_retry_count = 1};
  MUST(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)); /* a synchronous id */
  MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr*)&to, 1000) && !rdma_resolve_route(id, 1000));
  make_qp(id, &me);
  MUST(!rdma_connect(id, &parameters));
  MUST(!post_send(&me, 1));
  is_sent = 1;
  await(me.send_cq);
  return NULL;
}

int main(int argc, char** argv) {
  struct rdma_cm_id* listener;
  struct rdma_cm_id* id;
  struct end me;
  pthread_t client;
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct rdma_conn_param parameters = {.rnr_retry_count = 1};
  MUST(!rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP));
  MUST(!rdma_bind_addr(listener, (struct sockaddr*)&any) && !rdma_listen(listener, 1));
  begin(argc, argv, listener->verbs);
  MUST(!pthread_create(&client, NULL, run_client, listener));
  MUST(!rdma_get_request(listener, &id));
  make_qp(id, &me);
  if (!is_wrong) MUST(!post_recv(&me, 1));
  MUST(!rdma_accept(id, &parameters));
  if (is_wrong) {
    struct ibv_wc wc;
    while (!is_sent) { /* other work */
    }
    for (int i = 0; i < 1000; ++i) MUST(ibv_poll_cq(me.recv_cq, 1, &wc) == 0);
    MUST(!post_recv(&me, 1));
  }
  MUST(await(me.recv_cq) == 1);
  pthread_join(client, NULL);
  return 0;
}
