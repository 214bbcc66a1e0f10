// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. It reads a word and then adds to it. With the
// argument "wrong" the atomic has no fence, although it may be executed before the Read.
#include "pair_main.h"

static void run(void) {
  join(&a, &b, 7);
  volatile uint64_t* const read = (volatile uint64_t*)memory;
  volatile uint64_t* const target = (volatile uint64_t*)&memory[SIZE];
  for (uint64_t i = 0; i < 20; ++i) {
    *target = i;
    MUST(!post(&a, IBV_WR_RDMA_READ, 1, 0, 8, SIZE, IBV_SEND_SIGNALED));
    struct ibv_send_wr* bad;
    struct ibv_sge sge = {(uintptr_t)&memory[64], 8, mr->lkey};
    struct ibv_send_wr add = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                              .send_flags = IBV_SEND_SIGNALED | (is_wrong ? 0 : IBV_SEND_FENCE),
                              .wr.atomic = {.remote_addr = (uintptr_t)target, .compare_add = 1, .rkey = mr->rkey}};
    MUST(!ibv_post_send(a.qp, &add, &bad));
    MUST(await(a.send_cq) == 1 && await(a.send_cq) == 2);
    MUST(*read == i);
  }
}
