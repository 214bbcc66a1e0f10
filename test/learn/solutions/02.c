// SPDX-License-Identifier: Apache-2.0
// Exercise 2, a right solution.
#include "../learn.h"

enum { LENGTH = 64 };

/* Polls for a completion, and ends the program if the request has failed. */
static void expect(struct ibv_cq* cq, int peer, const char* what) {
  struct ibv_wc wc;
  errno = 0;
  if (!learn_poll(cq, peer, &wc)) die("%s: no completion", what);
  if (wc.status)
    die("%s ended with status %d, %s", what, (int)wc.status, ibv_wc_status_str(wc.status));
}

int main(void) {
  const int peer = learn_meet();
  struct ibv_context* context = learn_open();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  if (!pd) die("ibv_alloc_pd");
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  if (!cq) die("ibv_create_cq");
  char buffer[3 * LENGTH] = {0};
  struct ibv_mr* mr =
      ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (!mr) die("ibv_reg_mr");

  struct ibv_qp* qp = NULL;
  struct learn_address own = {.psn = 0x123456}; /* tell this to the peer */
  struct learn_address remote;                  /* what the peer has told */

  struct ibv_qp_init_attr wanted = {
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC,
  };
  qp = ibv_create_qp(pd, &wanted);
  if (!qp) die("ibv_create_qp");

  int gid_index = -1;
  struct ibv_gid_entry entry;
  for (uint32_t i = 0; gid_index < 0; i++) {
    if (ibv_query_gid_ex(context, 1, i, &entry, 0)) die("no GID for RoCE v2 and IPv4");
    const int is_v4 = IN6_IS_ADDR_V4MAPPED((struct in6_addr*)entry.gid.raw);
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && is_v4) gid_index = (int)i;
  }

  own.gid = entry.gid;
  own.qp_num = qp->qp_num;
  learn_put(peer, &own, sizeof own);
  learn_get(peer, &remote, sizeof remote);

  struct ibv_qp_attr to = {
      .qp_state = IBV_QPS_INIT,
      .pkey_index = 0,
      .port_num = 1,
      .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
  };
  errno =
      ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (errno) die("ibv_modify_qp to INIT");
  to = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = remote.qp_num,
      .rq_psn = remote.psn,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr.is_global = 1,
      .ah_attr.port_num = 1,
      .ah_attr.grh.dgid = remote.gid,
      .ah_attr.grh.sgid_index = (uint8_t)gid_index,
      .ah_attr.grh.hop_limit = 64,
  };
  errno = ibv_modify_qp(qp, &to,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (errno) die("ibv_modify_qp to RTR");
  to = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS,
      .sq_psn = own.psn,
      .timeout = 14,
      .retry_cnt = 7,
      .rnr_retry = 7,
      .max_rd_atomic = 1,
  };
  errno = ibv_modify_qp(qp, &to,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                            IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  if (errno) die("ibv_modify_qp to RTS");

  if (!qp) die("not written yet");

  /* From here on the program is complete. It uses the queue pair in all ways that need an attribute
   * to be right. */
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  struct ibv_gid_entry used;
  errno = ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV, &init);
  if (errno) die("ibv_query_qp");
  if (attr.qp_state != IBV_QPS_RTS) die("the queue pair is in state %d", (int)attr.qp_state);
  learn_post_receive(qp, mr, buffer, LENGTH);
  learn_sync(peer); /* both queue pairs are in RTS */
  if (ibv_query_gid_ex(context, 1, attr.ah_attr.grh.sgid_index, &used, 0)) die("ibv_query_gid_ex");
  const uint64_t region[] = {(uintptr_t)buffer + LENGTH, mr->rkey, used.gid_type};
  uint64_t lent[2]; /* memory of the peer */
  learn_put(peer, region, sizeof region);
  learn_get(peer, lent, sizeof lent);
  expect(cq, peer, "the receive");
  learn_post(qp, IBV_WR_SEND, mr, buffer, LENGTH, 0, 0);
  expect(cq, peer, "the Send");
  learn_post(qp, IBV_WR_RDMA_READ, mr, buffer + 2 * LENGTH, LENGTH, lent[0], (uint32_t)lent[1]);
  expect(cq, peer, "the Read");
  learn_sync(peer);
  if (ibv_destroy_qp(qp)) die("ibv_destroy_qp");
  if (ibv_dereg_mr(mr)) die("ibv_dereg_mr");
  return 0;
}
