// SPDX-License-Identifier: Apache-2.0
// Exercise 1, a right solution.
#include "../learn.h"

enum { LENGTH = 8192 };

int main(void) {
  char* buffer = aligned_alloc(4096, LENGTH);
  struct ibv_pd* pd = NULL;
  struct ibv_mr* mr = NULL;

  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  if (!list) die("ibv_get_device_list");
  for (int i = 0; i < count && !pd; i++) {
    struct ibv_context* context = ibv_open_device(list[i]);
    struct ibv_port_attr port;
    if (!context) die("ibv_open_device");
    if (ibv_query_port(context, 1, &port)) die("ibv_query_port");
    if (port.state == IBV_PORT_ACTIVE) {
      pd = ibv_alloc_pd(context);
    } else {
      ibv_close_device(context);
    }
  }
  ibv_free_device_list(list);
  if (!pd) die("no device has an active port");
  mr = ibv_reg_mr(pd, buffer, LENGTH,
                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  if (!mr) die("ibv_reg_mr");

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
