// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 6: takes 60 numbered messages, with receives for 8 of them at a time. A grant is
// a message that says how many more messages the program may send. The first two grants are 6 and
// 2. When these 8 messages have arrived, the peer checks that no other one comes before the program
// waits, and then grants 2 for each 2 messages.
#define LEARN_PEER
#include "../recorded.h"

enum { WINDOW = 8, COUNT = 60, SIZE = 64 };

static char messages[WINDOW][SIZE];
static uint32_t grants[COUNT];

/* Returns whether a message arrives before the program waits for a grant. */
static int has_more(struct ibv_cq* cq) {
  struct learn_looks looks = {0};
  struct ibv_wc wc;
  do {
    while (ibv_poll_cq(cq, 1, &wc) == 1) {
      if (wc.opcode & IBV_WC_RECV) return 1;
    }
  } while (!learn_is_vain(&looks, LEARN_FEW_ROUNDS));
  return 0;
}

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {.depth = 32};
  learn_create(&end);
  struct ibv_mr* mr = learn_register(end.pd, messages, sizeof messages, 0);
  struct ibv_mr* grant_mr = learn_register(end.pd, grants, sizeof grants, 0);
  for (int i = 0; i < WINDOW; i++) learn_post_receive(end.qp, mr, messages[i], SIZE);
  learn_connect(&end, program);
  int granted = 0, is_right = 1;
  for (int received = 0, count = 0; received < COUNT; received++) {
    const int may_grant = received == 0 || received >= WINDOW;
    while (may_grant && granted < COUNT && granted < received / 2 * 2 + WINDOW) {
      uint32_t* grant = &grants[count++];
      *grant = granted == 0 ? 6 : 2;
      granted += (int)*grant;
      learn_post(end.qp, IBV_WR_SEND, grant_mr, grant, sizeof *grant, 0, 0);
    }
    struct ibv_wc wc = {0};
    do {
      if (!learn_wait(end.cq, &wc) || wc.status != IBV_WC_SUCCESS) {
        saw("received", "%d", received);
        return 0;
      }
    } while (!(wc.opcode & IBV_WC_RECV));
    char* const message = messages[received % WINDOW];
    if (learn_differences(message, SIZE, (unsigned)received) != 0) is_right = 0;
    learn_post_receive(end.qp, mr, message, SIZE);
    if (received + 1 == WINDOW && has_more(end.cq)) {
      saw("beyond_grant", "yes");
      return 0;
    }
  }
  saw("received", "%d", COUNT);
  saw("messages", "%s", is_right ? "right" : "wrong");
  learn_sync(program);
  return 0;
}
