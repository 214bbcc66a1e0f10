// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 3: receives messages and answers each. It has receives for two messages.
#define LEARN_PEER
#include "../recorded.h"

enum { ROUNDS = 100, LENGTH = 256 };

static char in[ROUNDS + 2][LENGTH];
static char out[ROUNDS][LENGTH];

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {.rnr_retry = 6, .depth = 2 * ROUNDS};
  learn_create(&end);
  struct ibv_mr* in_mr = learn_register(end.pd, in, sizeof in, 0);
  struct ibv_mr* out_mr = learn_register(end.pd, out, sizeof out, 0);
  for (int i = 0; i < 2; i++) learn_post_receive(end.qp, in_mr, in[i], LENGTH);
  learn_connect(&end, program);
  unsigned received = 0;
  unsigned wrong = 0;
  for (int i = 0; i < 2 * ROUNDS; i++) {
    struct ibv_wc wc;
    if (!learn_wait(end.cq, &wc)) break;
    if (wc.status) {
      saw(wc.opcode == IBV_WC_SEND ? "send" : "receive", "%s", ibv_wc_status_str(wc.status));
      break;
    }
    if (wc.opcode != IBV_WC_RECV) continue;
    wrong += wc.byte_len != LENGTH || learn_differences(in[received], LENGTH, received) != 0;
    learn_post_receive(end.qp, in_mr, in[received + 2], LENGTH);
    learn_fill(out[received], LENGTH, 1000 + received);
    learn_post(end.qp, IBV_WR_SEND, out_mr, out[received], LENGTH, 0, 0);
    if (++received == ROUNDS) break;
  }
  saw("received", "%u", received);
  saw("wrong", "%u", wrong);
  if (received < ROUNDS) return 0;
  learn_sync(program);
  learn_disconnect(&end);
  return 0;
}
