// SPDX-License-Identifier: Apache-2.0
// A program for test_adversary.py, see pair.h. With the argument "wrong" it waits for its channel
// with select(), whose sets have no room for large descriptors.
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "pair.h"

static void wait_for(int fd) {
  if (!is_wrong) {
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    MUST(poll(&waiting, 1, -1) == 1);
    return;
  }
  MUST(fd < FD_SETSIZE); /* FD_SET() would write beyond the set */
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  MUST(select(fd + 1, &set, NULL, NULL, NULL) == 1);
}

int main(int argc, char** argv) {
  struct rlimit limit;
  MUST(!getrlimit(RLIMIT_NOFILE, &limit));
  limit.rlim_cur = limit.rlim_max; /* as servers with many clients do */
  MUST(!setrlimit(RLIMIT_NOFILE, &limit));
  begin(argc, argv, NULL);
  struct end a = make_end(NULL, NULL, NULL);
  struct end b = make_end(NULL, NULL, NULL);
  MUST(!ibv_req_notify_cq(b.recv_cq, 0));
  join(&a, &b, 7);
  MUST(!post_recv(&b, 1) && !post_send(&a, 1));
  wait_for(channel->fd);
  struct ibv_cq* cq;
  void* unused;
  MUST(!ibv_get_cq_event(channel, &cq, &unused) && cq == b.recv_cq);
  ibv_ack_cq_events(cq, 1);
  MUST(await(b.recv_cq) == 1);
  return 0;
}
