// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 2: receives a message, writes to the program's memory and sends a message.
#define LEARN_PEER
#include "../learn.h"

enum { LENGTH = 64 };

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {0};
  learn_create(&end);
  char buffer[2 * LENGTH];
  learn_fill(buffer, sizeof buffer, 2);
  struct ibv_mr* mr =
      ibv_reg_mr(end.pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  if (!mr) die("ibv_reg_mr");
  learn_post_receive(end.qp, mr, buffer, LENGTH);
  learn_connect(&end, program);
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  if (ibv_query_qp(end.qp, &attr, IBV_QP_AV, &init)) die("ibv_query_qp");
  const struct in6_addr* address = (const struct in6_addr*)attr.ah_attr.grh.dgid.raw;
  saw("gid", IN6_IS_ADDR_V4MAPPED(address)    ? "IPv4"
             : IN6_IS_ADDR_LINKLOCAL(address) ? "link-local"
                                              : "other");
  uint64_t region[3]; /* address, rkey, GID type */
  const uint64_t lent[] = {(uintptr_t)buffer + LENGTH, mr->rkey};
  learn_get(program, region, sizeof region);
  saw("gid_type", region[2] == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "RoCE v1");
  struct ibv_wc wc;
  learn_post(end.qp, IBV_WR_RDMA_WRITE, mr, buffer, LENGTH, region[0], (uint32_t)region[1]);
  if (!learn_poll(end.cq, program, &wc)) return 0;
  saw("write", "%s", ibv_wc_status_str(wc.status));
  if (wc.status) return 0;
  learn_post(end.qp, IBV_WR_SEND, mr, buffer, LENGTH, 0, 0);
  learn_put(program, lent, sizeof lent);
  for (int i = 0; i < 2 && learn_poll(end.cq, program, &wc); i++) {
    saw(wc.opcode & IBV_WC_RECV ? "receive" : "send", "%s", ibv_wc_status_str(wc.status));
  }
  learn_sync(program);
  learn_disconnect(&end);
  return 0;
}
