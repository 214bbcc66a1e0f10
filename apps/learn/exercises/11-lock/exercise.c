// SPDX-License-Identifier: Apache-2.0
// Exercise 11: add to a count in the memory of the peer, under a lock that other clients use, too.
#include "../recorded.h"

enum { ROUNDS = 10 };

// What the peer's memory contains.
struct shared {
  uint64_t lock;  // 0: free; any other number: a client has it
  uint64_t count;
};

// Where it is.
struct place {
  uint64_t address;
  uint32_t rkey;
  uint32_t length;
};

static struct learn_end ends[2];  // two queue pairs to the peer; you need not use both
static struct place place;
static struct ibv_mr* mr;  // of `local`
static struct {
  uint64_t old;    // for the results of atomic operations
  uint64_t count;  // for the count
} local;

// Posts a signaled request for one number of `local`. Example:
//   POST(ends[0], &local.count, .opcode = IBV_WR_RDMA_READ,
//        .wr.rdma = {.remote_addr = place.address + 8, .rkey = place.rkey});
#define POST(end, number, ...)                                                               \
  do {                                                                                       \
    struct ibv_sge piece_ = {(uintptr_t)(number), sizeof *(number), mr->lkey};               \
    struct ibv_send_wr *bad_wr_,                                                             \
        request_ = {                                                                         \
            .sg_list = &piece_, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED, __VA_ARGS__}; \
    if (ibv_post_send((end).qp, &request_, &bad_wr_)) die("ibv_post_send");                  \
  } while (0)

// Adds one to the count.
static void add_one(void) {
  /* Write here: take the lock, read the count, write it back with one added, release the lock. */
  die("not written yet");
}

int main(void) {
  const int peer = learn_meet();
  learn_create(&ends[0]);
  ends[1] = (struct learn_end){.context = ends[0].context, .pd = ends[0].pd};
  for (int i = 0; i < 2; i++) learn_connect(&ends[i], peer);
  mr = learn_register(ends[0].pd, &local, sizeof local, 0);
  learn_get(peer, &place, sizeof place);
  for (int i = 0; i < ROUNDS; i++) add_one();
  learn_sync(peer);
  for (int i = 0; i < 2; i++) learn_disconnect(&ends[i]);
  ibv_dereg_mr(mr);
  return 0;
}
