// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 10: offers a table of 64 buckets for Reads, and then judges the values that the
// program found. While the program reads, one bucket is in the middle of a change, as when a server
// stores a new value: half of it is new, and the versions at its beginning and end differ.
#define LEARN_PEER
#include "../recorded.h"

enum { BUCKETS = 64, KEYS = 6, VALUE = 48, CHANGED = 4 };

struct bucket {
  uint32_t begin;  // version, counted up after a change
  uint32_t key;    // 0: empty
  char value[VALUE];
  uint32_t end;  // version, counted up before a change
};

static struct bucket table[BUCKETS];
static const uint32_t keys[KEYS] = {17, 81, 145,
                                    63, 7,  127};  // 17, 81 and 145 collide, and 63 and 127

// Stores a value. Returns the bucket.
static struct bucket* store(uint32_t key, unsigned seed) {
  uint32_t i = key % BUCKETS;
  while (table[i].key != 0 && table[i].key != key) i = (i + 1) % BUCKETS;
  table[i] = (struct bucket){.begin = 2, .key = key, .end = 2};
  learn_fill(table[i].value, VALUE, seed);
  return &table[i];
}

int main(void) {
  const int program = learn_meet();
  struct learn_end end = {0};
  struct bucket* changing = NULL;
  for (int i = 0; i < KEYS; i++) {
    struct bucket* bucket = store(keys[i], (unsigned)i);
    if (i == CHANGED) changing = bucket;
  }
  changing->end++;  // the change begins
  char fresh[VALUE];
  learn_fill(fresh, VALUE, 50);
  memcpy(changing->value, fresh, VALUE / 2);
  learn_create(&end);
  struct ibv_mr* mr = learn_register(end.pd, table, sizeof table, IBV_ACCESS_REMOTE_READ);
  learn_connect(&end, program);
  const struct {
    uint64_t address;
    uint32_t rkey, buckets;
  } place = {(uintptr_t)table, mr->rkey, BUCKETS};
  learn_put(program, &place, sizeof place);
  for (int i = 0; i <= KEYS; i++) {  // the last key is absent
    struct {
      uint32_t key, is_found;
      char value[VALUE];
    } found;
    if (i == CHANGED) {  // a program that does not wait for the end of the change reports at once
      learn_hears_within(program, 24, LEARN_FEW_ROUNDS);
      memcpy(changing->value + VALUE / 2, fresh + VALUE / 2, VALUE / 2);
      __atomic_store_n(&changing->begin, changing->end, __ATOMIC_RELEASE);
    }
    if (!learn_hears(program)) {
      saw("reported", "%d", i);
      return 0;
    }
    learn_get(program, &found, sizeof found);
    const unsigned seed = i == CHANGED ? 50 : (unsigned)i;
    const size_t wrong = learn_differences(found.value, VALUE, seed);
    const int is_old = learn_differences(found.value, VALUE, (unsigned)i) == 0;
    int is_other = 0;
    for (unsigned j = 0; j < KEYS; j++) {
      is_other |= j != (unsigned)i && learn_differences(found.value, VALUE, j) == 0;
    }
    saw("key", "%u %s", i < KEYS ? keys[i] : 5000,
        !found.is_found ? "absent"
        : wrong == 0    ? "right"
        : is_other      ? "of-other-key"
        : is_old        ? "old"
        : i == CHANGED  ? "torn"
                        : "unknown");
  }
  learn_sync(program);
  return 0;
}
