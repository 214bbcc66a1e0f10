// SPDX-License-Identifier: Apache-2.0
// Exercise 5: offer memory to the peer, which reads it and writes into it.
#include <endian.h>

#include "../recorded.h"

/* What the peer expects in one message: three numbers in network byte order. */
struct offer {
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

static char text[256];
static struct offer offer;

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {0};
  learn_create(&end);
  learn_fill(text, sizeof text, 5);

  struct ibv_mr* text_mr = NULL;
  struct ibv_mr* offer_mr = NULL;

  /* Write here: register `text` so that the peer may read and write it, and `offer`; post a receive
   * of no bytes for the peer's answer; fill `offer`; connect; and send `offer`. Use learn_connect(
   * &end, peer) to connect. */
  die("not written yet");

  learn_await(end.cq); /* the Send is complete, or the answer is there */
  learn_await(end.cq); /* both */
  if (learn_differences(text, sizeof text, 6) != 0) die("the peer's text is not there");
  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(text_mr);
  ibv_dereg_mr(offer_mr);
  return 0;
}
