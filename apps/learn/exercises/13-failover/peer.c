// SPDX-License-Identifier: Apache-2.0
// Peer of exercise 13: takes 60 numbered messages from two devices. The adapter of the first
// receives 24 messages. The peer handles 20 of them, and then loses the device with the other 4. It
// says on the second which number it needs next, and expects the messages from there on.
#define LEARN_PEER
#include "../recorded.h"

enum { COUNT = 60, HANDLED = 20, ARRIVED = 24, DEPTH = 64 };

struct message {
  uint32_t number;
  char text[60];
};

static struct learn_end ends[2];
static struct ibv_mr* mrs[2];
static struct message messages[COUNT];
static uint32_t next = HANDLED;

static void open_end(int side) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  errno = 0;
  if (count < 2) die("this exercise needs two devices");
  ends[side] = (struct learn_end){.context = ibv_open_device(list[side]), .depth = DEPTH};
  if (!ends[side].context) die("ibv_open_device");
  ibv_free_device_list(list);
  learn_create(&ends[side]);
  mrs[side] = learn_register(ends[side].pd, messages, sizeof messages, 0);
}

int main(void) {
  const int program = learn_meet();
  for (int side = 0; side < 2; side++) open_end(side);
  struct ibv_mr* mr = learn_register(ends[1].pd, &next, sizeof next, 0);
  for (int i = 0; i < COUNT; i++) {
    const int side = i < ARRIVED ? 0 : 1;
    learn_post_receive(ends[side].qp, mrs[side], &messages[i], sizeof messages[i]);
  }
  for (int side = 0; side < 2; side++) learn_connect(&ends[side], program);
  struct ibv_wc wc;
  for (int i = 0; i < ARRIVED; i++) {
    if (!learn_wait(ends[0].cq, &wc) || wc.status != IBV_WC_SUCCESS) return 0;
  }
  learn_hears_within(program, UINT32_MAX,
                     LEARN_FEW_ROUNDS);  // the program polls the completions of 24 messages
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  if (ibv_modify_qp(ends[0].qp, &attr, IBV_QP_STATE)) die("ibv_modify_qp");
  learn_post(ends[1].qp, IBV_WR_SEND, mr, &next, sizeof next, 0, 0);
  uint32_t received = 0;
  for (int slot = ARRIVED; next < COUNT;) {
    if (!learn_wait(ends[1].cq, &wc)) break;
    if (wc.status != IBV_WC_SUCCESS) {
      saw("status", "%d", (int)wc.status);
      break;
    }
    if (!(wc.opcode & IBV_WC_RECV)) continue;
    struct message* message = &messages[slot];
    const uint32_t number = message->number;
    slot = slot + 1 < COUNT ? slot + 1 : ARRIVED;
    learn_post_receive(ends[1].qp, mrs[1], message, sizeof *message);
    if (received++ == 0) saw("resumed_at", "%u", number);
    if (number != next) break;
    next++;
  }
  saw("received_later", "%u", received);
  saw("complete", "%s", next == COUNT ? "yes" : "no");
  if (next == COUNT) learn_sync(program);
  return 0;
}
