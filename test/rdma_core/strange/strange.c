// SPDX-License-Identifier: Apache-2.0
// A library that test_judge.py preloads before the drop-in libraries, and that makes the device
// strange. The variable STRANGE selects how:
//   closed   ibv_open_device() fails with EACCES
//   no-cm    rdma_create_event_channel() fails with ENODEV
//   no-gids  the GID table of a port is empty
//   stalls   ibv_alloc_pd() does not return, after it has written the id of its process to the file
//            STRANGE_FILE
//   crashes  ibv_alloc_pd() aborts
//   refuses  ibv_create_cq_ex() and ibv_create_qp_ex() fail with EOPNOTSUPP
//   gone     the device is in the list of the first two processes only, which each add an octet to
//            STRANGE_FILE
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kProcessesWithDevice = 2 };

static int is_strange(const char* how) {
  const char* const chosen = getenv("STRANGE");
  return chosen != NULL && strcmp(chosen, how) == 0;
}

static int open_file(void) {
  const int fd = open(getenv("STRANGE_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) abort();
  return fd;
}

struct ibv_device** ibv_get_device_list(int* count) {
  static int has_device = 1;
  if (is_strange("gone")) {
    struct stat about;
    const int fd = open_file();
    if (write(fd, "x", 1) != 1 || fstat(fd, &about) != 0) abort();
    close(fd);
    has_device = about.st_size <= kProcessesWithDevice;
  }
  if (!has_device) return calloc(1, sizeof(struct ibv_device*));
  struct ibv_device** (*next)(int*) = dlsym(RTLD_NEXT, "ibv_get_device_list");
  return next(count);
}

static int (*query_port)(struct ibv_context*, uint8_t, struct ibv_port_attr*, size_t);

static int query_port_without_gids(struct ibv_context* context, uint8_t port,
                                   struct ibv_port_attr* attr, size_t size) {
  const int code = query_port(context, port, attr, size);
  if (code == 0) attr->gid_tbl_len = 0;
  return code;
}

static struct ibv_cq_ex* refuse_cq(struct ibv_context* context, struct ibv_cq_init_attr_ex* attr) {
  (void)context, (void)attr;
  errno = EOPNOTSUPP;
  return NULL;
}

static struct ibv_qp* refuse_qp(struct ibv_context* context, struct ibv_qp_init_attr_ex* attr) {
  (void)context, (void)attr;
  errno = EOPNOTSUPP;
  return NULL;
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  if (is_strange("closed")) {
    errno = EACCES;
    return NULL;
  }
  struct ibv_context* (*next)(struct ibv_device*) = dlsym(RTLD_NEXT, "ibv_open_device");
  struct ibv_context* const context = next(device);
  struct verbs_context* const extended = context != NULL ? verbs_get_ctx(context) : NULL;
  if (extended != NULL && is_strange("no-gids")) {
    query_port = extended->query_port;
    extended->query_port = query_port_without_gids;
  }
  if (extended != NULL && is_strange("refuses")) {
    extended->create_cq_ex = refuse_cq;
    extended->create_qp_ex = refuse_qp;
  }
  return context;
}

struct ibv_pd* ibv_alloc_pd(struct ibv_context* context) {
  if (is_strange("crashes")) abort();
  if (is_strange("stalls")) {
    dprintf(open_file(), "%d\n", (int)getpid());
    for (;;) pause();
  }
  struct ibv_pd* (*next)(struct ibv_context*) = dlsym(RTLD_NEXT, "ibv_alloc_pd");
  return next(context);
}

struct rdma_event_channel* rdma_create_event_channel(void) {
  if (is_strange("no-cm")) {
    errno = ENODEV;
    return NULL;
  }
  struct rdma_event_channel* (*next)(void) = dlsym(RTLD_NEXT, "rdma_create_event_channel");
  return next();
}
