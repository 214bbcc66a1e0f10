// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 4: offers 4096 bytes for RDMA Writes, and looks at them when a message says that
// the text is there.
#define LEARN_PEER
#include "../recorded.h"

static char memory[4096];

static const char* contents(char letter) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof memory; i++) count += memory[i] == letter;
  return count == sizeof memory ? "whole" : count == 0 ? "none" : "part";
}

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {0};
  learn_create(&end);
  struct ibv_mr* mr = learn_register(end.pd, memory, sizeof memory, IBV_ACCESS_REMOTE_WRITE);
  for (int round = 0; round < 2; round++) learn_post_receive(end.qp, mr, memory, 0);
  learn_connect(&end, program);
  struct {
    uint64_t address;
    uint32_t rkey, length;
  } place = {(uintptr_t)memory, mr->rkey, sizeof memory};
  learn_put(program, &place, sizeof place);
  for (int round = 0; round < 2; round++) {
    struct ibv_wc wc = {0};
    const int is_told = learn_wait(end.cq, &wc) && wc.status == IBV_WC_SUCCESS;
    const char* text = contents((char)('a' + round));
    saw(round == 0 ? "told0" : "told1", "%s", is_told ? "yes" : "no");
    saw(round == 0 ? "text0" : "text1", "%s", text);
    if (!is_told) return 0;
    learn_put(program, "n", 1); /* the next round may begin */
  }
  learn_sync(program);
  return 0;
}
