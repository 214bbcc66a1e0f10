// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 11: offers a lock and a count that it protects. Holds the lock at first, in the
// place of another client, and adds 5 to the count when the program has tried to get it.
//
// It changes the lock by a store of the processor. That is safe only where ibv_query_device() says
// IBV_ATOMIC_GLOB: elsewhere all that change a word must do so by atomic operations of one adapter.
#define LEARN_PEER
#include "../recorded.h"

static struct {
  uint64_t lock, count;
} shared = {7, 100};

int main(void) {
  const int program = learn_meet();
  struct learn_end ends[2] = {{0}};
  learn_create(&ends[0]);
  struct ibv_mr* mr =
      learn_register(ends[0].pd, &shared, sizeof shared,
                     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  ends[1] = (struct learn_end){.context = ends[0].context, .pd = ends[0].pd};
  for (int i = 0; i < 2; i++) learn_connect(&ends[i], program);
  const struct {
    uint64_t address;
    uint32_t rkey, length;
  } place = {(uintptr_t)&shared, mr->rkey, sizeof shared};
  learn_put(program, &place, sizeof place);
  learn_hears_within(program, 24,
                     LEARN_FEW_ROUNDS);  // a program that does not wait for the lock ends at once
  const int is_intact = __atomic_load_n(&shared.count, __ATOMIC_ACQUIRE) == 100;
  saw("while_held", "%s", is_intact ? "unchanged" : "changed");
  saw("lock_while_held", "%llu", (unsigned long long)shared.lock);
  __atomic_store_n(&shared.count, 105, __ATOMIC_RELEASE);
  __atomic_store_n(&shared.lock, 0, __ATOMIC_RELEASE);
  const int has_ended = learn_hears(program);
  saw("ended", "%s", has_ended ? "yes" : "no");
  saw("count", "%llu", (unsigned long long)__atomic_load_n(&shared.count, __ATOMIC_ACQUIRE));
  saw("lock", "%llu", (unsigned long long)__atomic_load_n(&shared.lock, __ATOMIC_ACQUIRE));
  if (has_ended) learn_sync(program);
  return 0;
}
