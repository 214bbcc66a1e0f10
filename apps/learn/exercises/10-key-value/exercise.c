// SPDX-License-Identifier: Apache-2.0
// Exercise 10: look up keys in a table of the peer, by Reads alone.
#include "../recorded.h"

enum { KEYS = 7, VALUE = 48 };

// An element of the table. Key K is in bucket K % buckets or, if that has another key, in one of
// the next buckets, up to the first that is empty. After the last bucket comes the first.
struct bucket {
  uint32_t begin;  // version: the server counts it up after a change
  uint32_t key;    // 0: empty
  char value[VALUE];
  uint32_t end;  // version: the server counts it up before a change
};

// Where the table is.
struct place {
  uint64_t address;
  uint32_t rkey;
  uint32_t buckets;
};

// What the program found.
struct found {
  uint32_t key;
  uint32_t is_found;
  char value[VALUE];
};

static struct learn_end end;
static struct place place;
static struct bucket bucket;
static struct ibv_mr* mr;

// Looks for a key. Sets `found`.
static void look_up(uint32_t key, struct found* found) {
  found->key = key;

  /* Write here: read buckets of the peer into `bucket`, and copy the value of `key` to
   * found->value and set found->is_found if the key is in the table. Set `mr` at the first call. */
  die("not written yet");
}

int main(void) {
  const int peer = learn_meet();
  learn_connect(&end, peer);
  learn_get(peer, &place, sizeof place);
  const uint32_t keys[KEYS] = {17, 81, 145, 63, 7, 127, 5000};
  for (int i = 0; i < KEYS; i++) {
    struct found found = {0};
    look_up(keys[i], &found);
    learn_put(peer, &found, sizeof found);
  }
  learn_sync(peer);
  learn_disconnect(&end);
  ibv_dereg_mr(mr);
  return 0;
}
