// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it posts receives until
// the device refuses one, and expects that this happens after as many as it asked for.
#include "pair_main.h"

static void run(void) {
  join(&a, &b, 7);
  uint64_t posted = 0;
  while ((is_wrong || posted < DEPTH) && posted < 2 * DEPTH && !post_recv(&b, posted)) ++posted;
  MUST(posted == DEPTH);
}
