// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it expects that the server
// gets ESTABLISHED before the first message of the client.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "pair.h"

static struct rdma_event_channel* events;

static void make_qp(struct rdma_cm_id* id) {
  struct ibv_qp_init_attr init = {
      .send_cq = make_cq(0), .recv_cq = make_cq(0), .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(!rdma_create_qp(id, pd, &init));
}

static struct end me;

/* Connects to the port that the pipe contains, and sends one message. */
static void run_client(int pipe, int argc, char** argv) {
  struct rdma_cm_id* id;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct rdma_conn_param parameters = {.rnr_retry_count = 7};
  MUST(read(pipe, &to.sin_port, sizeof to.sin_port) == sizeof to.sin_port);
  MUST(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)); /* a synchronous id */
  MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr*)&to, 1000) && !rdma_resolve_route(id, 1000));
  begin(argc, argv, id->verbs);
  make_qp(id);
  MUST(!rdma_connect(id, &parameters));
  me = (struct end){.qp = id->qp, .send_cq = id->qp->send_cq};
  MUST(!post_send(&me, 1));
  await(me.send_cq);
  /* The server closes the pipe when it ends. */
  MUST(read(pipe, &to.sin_port, 1) == 0);
}

static void* receive(void* unused) {
  struct rdma_cm_event* event;
  await(me.recv_cq);
  fcntl(events->fd, F_SETFL, O_NONBLOCK);
  if (!is_wrong) {
    struct pollfd readable = {.fd = events->fd, .events = POLLIN};
    poll(&readable, 1, -1);
  }
  MUST(!rdma_get_cm_event(events, &event) && event->event == RDMA_CM_EVENT_ESTABLISHED);
  rdma_ack_cm_event(event);
  return unused;
}

int main(int argc, char** argv) {
  struct rdma_cm_id* listener;
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int to_client[2];
  MUST(!pipe(to_client));
  const pid_t client = fork();
  if (client == 0) {
    close(to_client[1]);
    run_client(to_client[0], argc, argv);
    return 0;
  }
  events = rdma_create_event_channel();
  MUST(events && !rdma_create_id(events, &listener, NULL, RDMA_PS_TCP));
  MUST(!rdma_bind_addr(listener, (struct sockaddr*)&any) && !rdma_listen(listener, 1));
  begin(argc, argv, listener->verbs);
  uint16_t port = rdma_get_src_port(listener);
  MUST(write(to_client[1], &port, sizeof port) == sizeof port);
  pthread_t receiver;
  struct rdma_cm_event* request;
  MUST(!rdma_get_cm_event(events, &request) && request->event == RDMA_CM_EVENT_CONNECT_REQUEST);
  struct rdma_cm_id* id = request->id;
  rdma_ack_cm_event(request);
  make_qp(id);
  me = (struct end){.qp = id->qp, .recv_cq = id->qp->recv_cq};
  MUST(!post_recv(&me, 0));
  pthread_create(&receiver, NULL, receive, NULL);
  MUST(!rdma_accept(id, NULL));
  pthread_join(receiver, NULL);
  return 0;
}
