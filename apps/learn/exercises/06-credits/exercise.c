// SPDX-License-Identifier: Apache-2.0
// Exercise 6: send 60 messages to a peer that has receives for only a few of them.
#include "../recorded.h"

enum { COUNT = 60, SIZE = 64, GRANTS = 4 };

static char messages[4][SIZE];  /* buffers of the Sends */
static uint32_t grants[GRANTS]; /* buffers of the receives: how many more messages may be sent */

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {.depth = 8, .rnr_retry = learn_no_retry};
  learn_create(&end);
  struct ibv_mr* mr = learn_register(end.pd, messages, sizeof messages, 0);
  struct ibv_mr* grants_mr = learn_register(end.pd, grants, sizeof grants, 0);
  int sent = 0; /* number of messages that were sent */

  /* Write here: post receives for grants, connect with learn_connect(&end, peer), and send COUNT
   * messages. Fill message number N by learn_fill(buffer, SIZE, N). */
  (void)mr, (void)grants_mr;
  if (sent < COUNT) die("not written yet");

  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(mr);
  ibv_dereg_mr(grants_mr);
  return 0;
}
