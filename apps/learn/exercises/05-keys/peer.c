// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 5: receives an offer (address, key, length, each in network byte order), reads
// the text of the program, and answers by a Write into the same memory, followed by a Send.
#define LEARN_PEER
#include <endian.h>

#include "../recorded.h"

static struct {
  uint64_t address;
  uint32_t rkey, length;
} offer;
static char copy[256];

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {0};
  learn_create(&end);
  struct ibv_mr* offer_mr = learn_register(end.pd, &offer, sizeof offer, 0);
  struct ibv_mr* mr = learn_register(end.pd, copy, sizeof copy, 0);
  learn_post_receive(end.qp, offer_mr, &offer, sizeof offer);
  learn_connect(&end, program);
  struct ibv_wc wc = {0};
  const int has_offer = learn_wait(end.cq, &wc) && wc.status == IBV_WC_SUCCESS;
  saw("offer", "%s",
      !has_offer                    ? "none"
      : wc.byte_len == sizeof offer ? "right-size"
                                    : "wrong-size");
  if (!has_offer) return 0;
  const uint64_t address = be64toh(offer.address);
  const uint32_t rkey = be32toh(offer.rkey);
  saw("length", "%u", be32toh(offer.length));
  saw("host_order_length", "%u", offer.length);
  saw("address_bits", "%d", address >> 32 ? 64 : 32);
  learn_post(end.qp, IBV_WR_RDMA_READ, mr, copy, sizeof copy, address, rkey);
  if (!learn_wait(end.cq, &wc)) return 0;
  saw("read", "%d", wc.status);
  if (wc.status != IBV_WC_SUCCESS) return 0;
  saw("text", "%s", learn_differences(copy, sizeof copy, 5) == 0 ? "right" : "wrong");
  learn_fill(copy, sizeof copy, 6);
  learn_post(end.qp, IBV_WR_RDMA_WRITE, mr, copy, sizeof copy, address, rkey);
  if (!learn_wait(end.cq, &wc)) return 0;
  saw("write", "%d", wc.status);
  if (wc.status != IBV_WC_SUCCESS) return 0;
  learn_post(end.qp, IBV_WR_SEND, mr, copy, 0, 0, 0);
  learn_wait(end.cq, &wc);
  learn_sync(program);
  return 0;
}
