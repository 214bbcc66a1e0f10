// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 7: has three connections, and sends 30 messages on them in an order that follows
// no rule, 6 at a time. Expects each text back on the connection on which it was sent.
#define LEARN_PEER
#include "../recorded.h"

enum { PEERS = 3, COUNT = 30, BATCH = 6, SIZE = 48 };

static char messages[BATCH][SIZE], answers[PEERS][BATCH][SIZE];
static struct learn_end ends[PEERS];
static struct ibv_mr* answers_mr;

static void post_receive(int connection, int slot) {
  struct ibv_sge piece = {(uintptr_t)answers[connection][slot], SIZE, answers_mr->lkey};
  struct ibv_recv_wr *bad, recv = {.wr_id = (uint64_t)slot, .sg_list = &piece, .num_sge = 1};
  if (ibv_post_recv(ends[connection].qp, &recv, &bad)) die("ibv_post_recv");
}

// Says whether the answer is the text of message `expected`, or of another one below `sent`.
static const char* judge(const char* answer, int expected, int sent) {
  if (learn_differences(answer, SIZE, (unsigned)expected) == 0) return "right";
  for (int n = 0; n < sent; n++) {
    if (learn_differences(answer, SIZE, (unsigned)n) == 0) return "of-other-message";
  }
  return "unknown";
}

int main(void) {
  const int program = learn_meet();
  for (int i = 0; i < PEERS; i++) {
    if (i > 0) ends[i] = ends[0];
    ends[i].rnr_retry = learn_no_retry;
    learn_create(&ends[i]);
  }
  struct ibv_mr* mr = learn_register(ends[0].pd, messages, sizeof messages, 0);
  answers_mr = learn_register(ends[0].pd, answers, sizeof answers, 0);
  for (int i = 0; i < PEERS * BATCH; i++) post_receive(i / BATCH, i % BATCH);
  for (int i = 0; i < PEERS; i++) learn_connect(&ends[i], program);
  learn_sync(program);  // the program has connected the last one, too
  int texts[PEERS][COUNT], sent[PEERS] = {0}, answered[PEERS] = {0}, total = 0, gone = 0;
  uint32_t random = 7;
  for (int n = 0; n < COUNT;) {
    for (int i = 0; i < BATCH; i++, n++) {
      random = random * 1103515245 + 12345;
      const int to = (int)((random >> 16) % PEERS);
      texts[to][sent[to]++] = n;
      learn_fill(messages[i], SIZE, (unsigned)n);
      learn_post(ends[to].qp, IBV_WR_SEND, mr, messages[i], SIZE, 0, 0);
    }
    while (total < n || gone < n) {
      struct ibv_wc wc = {0};
      const int has = learn_wait(ends[0].cq, &wc);
      if (!has || wc.status != IBV_WC_SUCCESS) {
        saw("answered", "%d", total);
        saw("status", "%d", has ? (int)wc.status : -1);
        return 0;
      }
      if (!(wc.opcode & IBV_WC_RECV)) {
        gone++;
        continue;
      }
      int from = 0;
      while (ends[from].qp->qp_num != wc.qp_num) from++;
      const int is_expected = answered[from] < sent[from];
      const int expected = is_expected ? texts[from][answered[from]++] : -1;
      const char* verdict = judge(answers[from][wc.wr_id], expected, n);
      if (strcmp(verdict, "right") != 0) {
        saw("answer", "%s", verdict);
        return 0;
      }
      post_receive(from, (int)wc.wr_id);
      total++;
    }
  }
  saw("answered", "%d", total);
  learn_sync(program);
  return 0;
}
