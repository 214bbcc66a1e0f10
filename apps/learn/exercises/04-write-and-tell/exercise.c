// SPDX-License-Identifier: Apache-2.0
// Exercise 4: write into the memory of the peer, and tell the peer when the text is there.
#include "../recorded.h"

static char text[4096];

/* Where the peer wants the text. */
struct place {
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

int main(void) {
  const int peer = learn_meet();
  struct learn_end end = {0};
  learn_connect(&end, peer);
  struct ibv_mr* mr = learn_register(end.pd, text, sizeof text, 0);
  struct place place;
  learn_get(peer, &place, sizeof place);

  for (int round = 0; round < 2; round++) {
    memset(text, 'a' + round, sizeof text);

    /* Write here: write `text` to `place`, tell the peer, and wait until `text` may change. */
    die("not written yet");

    char next;
    if (round == 0) memset(text, '.', sizeof text); /* the program needs the buffer again */
    learn_get(peer, &next, 1);                      /* the peer has looked at the text */
  }

  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(mr);
  return 0;
}
