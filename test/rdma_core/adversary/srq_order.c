// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it expects that the
// receives of a shared receive queue complete in the order in which they were posted.
#include "pair.h"

enum { MESSAGES = 12 };

int main(int argc, char** argv) {
  begin(argc, argv, NULL);
  struct ibv_srq_init_attr init = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(pd, &init);
  MUST(srq);
  struct ibv_cq* cq = make_cq(1);
  struct end b[2] = {make_end(NULL, cq, srq), make_end(NULL, cq, srq)};
  struct end a[2] = {make_end(NULL, NULL, NULL), make_end(NULL, NULL, NULL)};
  for (uint64_t i = 0; i < MESSAGES; ++i) {
    struct ibv_recv_wr* bad;
    struct ibv_sge sge = {(uintptr_t)&memory[2 * SIZE + i * 64], 64, mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
    MUST(!ibv_post_srq_recv(srq, &wr, &bad));
  }
  join(&a[0], &b[0], 7);
  join(&a[1], &b[1], 7);
  for (uint64_t i = 0; i < MESSAGES; ++i) MUST(!post_send(&a[i % 2], i));
  unsigned seen = 0;
  for (unsigned i = 0; i < MESSAGES; ++i) {
    const uint64_t id = await(cq);
    MUST(!is_wrong || id == i);
    seen |= 1U << id;
  }
  MUST(seen == (1U << MESSAGES) - 1);
  return 0;
}
