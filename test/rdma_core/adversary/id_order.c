// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it expects that the
// completions of two queue pairs come in the order of posting, because they share a completion
// queue.
#include "pair.h"

enum { MESSAGES = 8 };

int main(int argc, char** argv) {
  begin(argc, argv, NULL);
  struct ibv_cq* cq = make_cq(0);
  struct end a[2] = {make_end(cq, NULL, NULL), make_end(cq, NULL, NULL)};
  struct end b[2] = {make_end(NULL, NULL, NULL), make_end(NULL, NULL, NULL)};
  for (uint64_t i = 0; i < MESSAGES; ++i) MUST(!post_recv(&b[i % 2], i));
  join(&a[0], &b[0], 7);
  join(&a[1], &b[1], 7);
  for (uint64_t i = 0; i < MESSAGES; ++i) MUST(!post_send(&a[i % 2], i));
  uint64_t next[2] = {0, 1};
  for (uint64_t i = 0; i < MESSAGES; ++i) {
    const uint64_t id = await(cq);
    MUST(is_wrong ? id == i : id == next[id % 2]);
    next[id % 2] += 2;
  }
  return 0;
}
