// SPDX-License-Identifier: Apache-2.0
// Exercise 1: open the device and register memory. The text is in README.md beside this file.
#include "../learn.h"

enum { LENGTH = 8192 };

int main(void) {
  char* buffer = aligned_alloc(4096, LENGTH);
  struct ibv_pd* pd = NULL;
  struct ibv_mr* mr = NULL;

  /* Write here: set `pd` and `mr`. */

  if (!pd || !mr) die("not written yet");

  /* From here on the program is complete. It tells the peer the address and the key of the region,
   * connects two queue pairs, and waits while the peer reads and writes the memory. */
  const int peer = learn_meet();
  memset(buffer, '.', LENGTH);
  const uint64_t region[] = {(uintptr_t)buffer, LENGTH, (uintptr_t)mr->addr, mr->length, mr->rkey};
  learn_put(peer, region, sizeof region);
  for (int i = 0; i < 2; i++) {
    struct learn_end end = {.pd = pd};
    struct ibv_port_attr port;
    if (ibv_query_port(pd->context, 1, &port)) die("ibv_query_port");
    errno = 0;
    if (port.state != IBV_PORT_ACTIVE) {
      die("port 1 of %s is %s", ibv_get_device_name(pd->context->device),
          ibv_port_state_str(port.state));
    }
    learn_connect(&end, peer);
    learn_sync(peer); /* the peer has used this queue pair */
    learn_disconnect(&end);
  }
  if (ibv_dereg_mr(mr)) die("ibv_dereg_mr");
  if (ibv_dealloc_pd(pd)) die("ibv_dealloc_pd");
  free(buffer);
  return 0;
}
