// SPDX-License-Identifier: Apache-2.0
// Exercise 13: send 60 messages, in order and each once, although one of two devices fails.
#include "../recorded.h"

enum { COUNT = 60, WINDOW = 8 };

struct message {
  uint32_t number;
  char text[60];
};

static struct learn_end ends[2];  // a queue pair on each device
static struct ibv_mr* mrs[2];     // `messages`, registered with each device
static struct message messages[COUNT];
static uint32_t next;  // what the peer says on ends[1] when ends[0] has failed
static int is_done;

// Opens device number `side`, and prepares ends[side].
static void open_end(int side) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  errno = 0;
  if (count < 2) die("this exercise needs two devices");
  ends[side] = (struct learn_end){.context = ibv_open_device(list[side]), .depth = WINDOW};
  if (!ends[side].context) die("ibv_open_device");
  ibv_free_device_list(list);
  learn_create(&ends[side]);
  mrs[side] = learn_register(ends[side].pd, messages, sizeof messages, 0);
}

// Sends all messages. Sets `is_done`.
static void send_all(void) {
  /* Write here: send on ends[0], with at most WINDOW requests outstanding. When it fails, take the
   * peer's number from ends[1], and go on there. */
  if (!is_done) die("not written yet");
}

int main(void) {
  const int peer = learn_meet();
  for (int side = 0; side < 2; side++) open_end(side);
  for (uint32_t i = 0; i < COUNT; i++) {
    messages[i].number = i;
    learn_fill(messages[i].text, sizeof messages[i].text, i);
  }
  struct ibv_mr* mr = learn_register(ends[1].pd, &next, sizeof next, 0);
  learn_post_receive(ends[1].qp, mr, &next, sizeof next);
  for (int side = 0; side < 2; side++) learn_connect(&ends[side], peer);
  send_all();
  learn_sync(peer);
  for (int side = 0; side < 2; side++) {
    learn_disconnect(&ends[side]);
    ibv_dereg_mr(mrs[side]);
  }
  ibv_dereg_mr(mr);
  return 0;
}
