// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 8: sends 40 messages in bursts of 1 to 5. Each burst begins when the program has
// answered all messages of the burst before it, so that one lost wake-up stops both ends.
#define LEARN_PEER
#include "../recorded.h"

enum { COUNT = 40, SIZE = 32, SLOTS = 16 };

static char messages[COUNT][SIZE], answers[SLOTS][SIZE];

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {.depth = COUNT};
  learn_create(&end);
  struct ibv_mr* mr = learn_register(end.pd, messages, sizeof messages, 0);
  struct ibv_mr* answers_mr = learn_register(end.pd, answers, sizeof answers, 0);
  for (int i = 0; i < SLOTS; i++) learn_post_receive(end.qp, answers_mr, answers[i], SIZE);
  learn_connect(&end, program);
  int sent = 0, answered = 0, is_right = 1;
  for (int burst = 1; answered < COUNT; burst = burst % 5 + 1) {
    for (int i = 0; i < burst && sent < COUNT; i++, sent++) {
      char* message = messages[sent];
      learn_fill(message, SIZE, (unsigned)sent);
      learn_post(end.qp, IBV_WR_SEND, mr, message, SIZE, 0, 0);
    }
    while (answered < sent) {
      struct ibv_wc wc = {0};
      if (!learn_wait(end.cq, &wc) || wc.status != IBV_WC_SUCCESS) {
        saw("sent", "%d", sent);
        saw("answered", "%d", answered);
        return 0;
      }
      if (!(wc.opcode & IBV_WC_RECV)) continue;
      char* answer = answers[answered % SLOTS];
      if (learn_differences(answer, SIZE, (unsigned)answered) != 0) is_right = 0;
      learn_post_receive(end.qp, answers_mr, answer, SIZE);
      answered++;
    }
  }
  saw("answered", "%d", answered);
  saw("answers", "%s", is_right ? "right" : "wrong");
  learn_sync(program);
  return 0;
}
