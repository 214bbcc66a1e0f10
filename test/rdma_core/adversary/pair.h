// SPDX-License-Identifier: Apache-2.0
// Two or four queue pairs of one process that are connected to each other, for the programs of this
// folder. Each program has a mistake if its argument is "wrong", and none if it is "right". It
// exits with 1 if the mistake shows, and SIGALRM ends it if it waits for ever.
#pragma once
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 16, SIZE = 4096 };

#define MUST(condition)                                            \
  do {                                                             \
    if (!(condition)) {                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                     \
    }                                                              \
  } while (0)

struct end {
  struct ibv_qp* qp;
  struct ibv_cq* send_cq;
  struct ibv_cq* recv_cq;
};

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_comp_channel* channel; /* of all receive queues */
static struct ibv_mr* mr;                /* both ends use this region */
static volatile uint8_t memory[4 * SIZE];
static int is_wrong;

/* Uses `device`, or the first device if it is null. */
static void begin(int argc, char** argv, struct ibv_context* device) {
  is_wrong = argc == 2 && strcmp(argv[1], "wrong") == 0;
  alarm(is_wrong ? 3 : 100);
  struct ibv_device** list = ibv_get_device_list(NULL);
  MUST(list && list[0] && (context = device ? device : ibv_open_device(list[0])));
  MUST((pd = ibv_alloc_pd(context)) && (channel = ibv_create_comp_channel(context)));
  const unsigned access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  MUST(mr = ibv_reg_mr(pd, (void*)memory, sizeof memory, access));
}

static __attribute__((unused)) struct ibv_cq* make_cq(int with_channel) {
  struct ibv_cq* cq = ibv_create_cq(context, 256, NULL, with_channel ? channel : NULL, 0);
  MUST(cq);
  return cq;
}

/* A queue that is null is made. */
static __attribute__((unused)) struct end make_end(struct ibv_cq* send_cq, struct ibv_cq* recv_cq, struct ibv_srq* srq) {
  struct end out = {.send_cq = send_cq ? send_cq : make_cq(0), .recv_cq = recv_cq ? recv_cq : make_cq(1)};
  struct ibv_qp_init_attr init = {
      .send_cq = out.send_cq, .recv_cq = out.recv_cq, .srq = srq, .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(out.qp = ibv_create_qp(pd, &init));
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1,
                             .qp_access_flags =
                                 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
  MUST(!ibv_modify_qp(out.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  return out;
}

static void bring_up(struct ibv_qp* qp, struct ibv_qp* peer, uint8_t rnr_retry) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
                              .max_dest_rd_atomic = 4, .min_rnr_timer = 1,
                              .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}}};
  MUST(!ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid));
  MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 20, .retry_cnt = 7, .rnr_retry = rnr_retry,
                              .max_rd_atomic = 4};
  MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

/* rnr_retry 7 means that a Send waits for a receive without limit. */
static __attribute__((unused)) void join(struct end* a, struct end* b, uint8_t rnr_retry) {
  bring_up(a->qp, b->qp, rnr_retry);
  bring_up(b->qp, a->qp, rnr_retry);
}

static __attribute__((unused)) int post_recv(struct end* of, uint64_t id) {
  struct ibv_recv_wr* bad;
  struct ibv_sge sge = {(uintptr_t)&memory[2 * SIZE + id * 64], 64, mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
  return ibv_post_recv(of->qp, &wr, &bad);
}

static int post(struct end* of, enum ibv_wr_opcode opcode, uint64_t id, size_t from, unsigned length, size_t to,
                unsigned flags) {
  struct ibv_send_wr* bad;
  struct ibv_sge sge = {(uintptr_t)&memory[from], length, mr->lkey};
  struct ibv_send_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = flags,
                           .wr.rdma = {(uintptr_t)&memory[to], mr->rkey}};
  return ibv_post_send(of->qp, &wr, &bad);
}

static __attribute__((unused)) int post_send(struct end* of, uint64_t id) {
  return post(of, IBV_WR_SEND, id, 0, 16, 0, IBV_SEND_SIGNALED);
}

/* Polls until there is a completion, and returns its wr_id. */
static __attribute__((unused)) uint64_t await(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int n = 0;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
  }
  MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
  return wc.wr_id;
}
