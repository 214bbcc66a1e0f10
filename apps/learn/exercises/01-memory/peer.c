// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 1: reads the program's memory over one queue pair, and writes it over another,
// so that a refused Read does not keep the Write from being tried.
#define LEARN_PEER
#include "../learn.h"

static void try(int program, enum ibv_wr_opcode opcode, const char* name, const uint64_t* region) {
  struct learn_end end = {0};
  learn_connect(&end, program);
  const uint32_t length = (uint32_t)region[1];
  char* memory = aligned_alloc(4096, length);
  learn_fill(memory, length, 1);
  struct ibv_mr* mr = ibv_reg_mr(end.pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
  if (!mr) die("ibv_reg_mr");
  learn_post(end.qp, opcode, mr, memory, length, region[0], (uint32_t)region[4]);
  struct ibv_wc wc;
  if (learn_poll(end.cq, program, &wc)) saw(name, "%s", ibv_wc_status_str(wc.status));
  learn_sync(program);
  learn_disconnect(&end);
  ibv_dereg_mr(mr);
  free(memory);
}

int main(void) {
  const int program = learn_meet();
  uint64_t region[5]; /* buffer, its length, mr->addr, mr->length, mr->rkey */
  learn_get(program, region, sizeof region);
  saw("offset", "%lld", (long long)(region[2] - region[0]));
  saw("length", "%llu", (unsigned long long)region[3]);
  try(program, IBV_WR_RDMA_READ, "read", region);
  try(program, IBV_WR_RDMA_WRITE, "write", region);
  return 0;
}
