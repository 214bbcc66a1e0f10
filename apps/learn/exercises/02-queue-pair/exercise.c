// SPDX-License-Identifier: Apache-2.0
// Exercise 2: bring up a queue pair by hand. The text is in README.md beside this file.
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

  /* Write here: create `qp`. Complete `own`, send it to the peer, and receive `remote`:
   *   learn_put(peer, &own, sizeof own);
   *   learn_get(peer, &remote, sizeof remote);
   * Move `qp` to INIT, to RTR and to RTS. */
  (void)own, (void)remote;

  if (!qp) die("not written yet");

  /* From here on the program is complete. It uses the queue pair in all ways that need an attribute
   * to be right. */
  struct ibv_qp_attr reached;
  struct ibv_qp_init_attr made;
  struct ibv_gid_entry used;
  errno = ibv_query_qp(qp, &reached, IBV_QP_STATE | IBV_QP_AV, &made);
  if (errno) die("ibv_query_qp");
  if (reached.qp_state != IBV_QPS_RTS) die("the queue pair is in state %d", (int)reached.qp_state);
  learn_post_receive(qp, mr, buffer, LENGTH);
  learn_sync(peer); /* both queue pairs are in RTS */
  if (ibv_query_gid_ex(context, 1, reached.ah_attr.grh.sgid_index, &used, 0))
    die("ibv_query_gid_ex");
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
