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

  /* Write here: create `srq` and post receives to it; for each element of `ends` set its members
   * context, pd, cq and srq and call learn_connect(&ends[i], peer); call learn_sync(peer); then
   * send COUNT messages back, each on the queue pair on which it arrived. */
  (void)mr, (void)answers_mr, (void)srq;
  if (completed < COUNT) die("not written yet");

  learn_sync(peer);
  for (int i = 0; i < PEERS; i++) ibv_destroy_qp(ends[i].qp);
  ibv_destroy_srq(srq);
  ibv_destroy_cq(cq);
  ibv_dereg_mr(mr);
  ibv_dereg_mr(answers_mr);
  return 0;
}
