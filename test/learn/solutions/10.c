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

  if (!mr) mr = learn_register(end.pd, &bucket, sizeof bucket, 0);
  for (uint32_t step = 0; step < place.buckets;) {
    const uint32_t index = (key + step) % place.buckets;
    struct ibv_sge piece = {(uintptr_t)&bucket, sizeof bucket, mr->lkey};
    struct ibv_send_wr *bad, read = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_READ};
    read.send_flags = IBV_SEND_SIGNALED;
    read.wr.rdma.remote_addr = place.address + index * sizeof bucket;
    read.wr.rdma.rkey = place.rkey;
    if (ibv_post_send(end.qp, &read, &bad)) die("ibv_post_send");
    learn_await(end.cq);
    if (bucket.begin != bucket.end) continue; /* it is being changed: read it again */
    if (bucket.key == 0) return;
    if (bucket.key == key) {
      found->is_found = 1;
      memcpy(found->value, bucket.value, VALUE);
      return;
    }
    step++;
  }
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
