// SPDX-License-Identifier: Apache-2.0
// learn.h: what the exercises need and do not teach. It contains functions that end the program
// with a message, that talk to the peer over a socket, and that bring up a queue pair. All of it is
// plain libibverbs. The reference peers include this file, too.
#ifndef LEARN_H
#define LEARN_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Prints "FILE:LINE: TEXT", and the text of errno if errno is not 0. Ends the program with
 * status 1. */
#define die(...) learn_die(__FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 3, 4), noreturn, unused)) static void learn_die(const char* file,
                                                                              int line,
                                                                              const char* format,
                                                                              ...) {
  const int error = errno;
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  /* one call, so that no other line gets between the parts */
  dprintf(STDERR_FILENO, error ? "%s:%d: %s: %s\n" : "%s:%d: %s\n", file, line, text,
          strerror(error));
  exit(1);
}

/* Reports a fact to the judge as the line "saw: KEY=VALUE". Only the reference peers use it. */
__attribute__((format(printf, 2, 3), unused)) static void saw(const char* key, const char* format,
                                                              ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("saw: %s=", key);
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
  va_end(arguments);
}

/* The socket between the program and its peer ---------------------------------------------------
 */

/* Returns a socket that is connected to the other program. The judge makes the socket and passes
 * the number of its descriptor in LEARN_SOCKET. */
static inline int learn_meet(void) {
  const char* number = getenv("LEARN_SOCKET");
  errno = 0;
  if (!number) die("LEARN_SOCKET is not set: start this program with iwarp learn check");
  return atoi(number);
}

/* Returns whether the other program has ended. */
static inline int learn_has_ended(int socket) {
  char octet;
  return recv(socket, &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Waiting ----------------------------------------------------------------------------------------
 * A program that waits for something that cannot come any more should say so soon, but not because
 * the machine is busy. So each program shows the other one whether it waits, in a file that both
 * map. A wait is in vain if the other program waits, too, and neither does anything else while this
 * one looks LEARN_ROUNDS times. The sleeps between looks only leave the processor to others.
 */
#ifdef LEARN_PEER
enum { LEARN_SELF = 1 };
#else
enum { LEARN_SELF = 0 };
#endif
enum { LEARN_OTHER = 1 - LEARN_SELF };

/* LEARN_ROUNDS take longer than a queue pair tries to reach its peer (see `timeout` below). */
enum { LEARN_FEW_ROUNDS = 200, LEARN_ROUNDS = 1500, LEARN_MOST_ROUNDS = 6000 };

struct learn_activity {
  uint32_t actions;    /* counts what the program has done */
  uint32_t is_waiting; /* 1 from the first look that finds nothing until the next action */
};

static inline struct learn_activity* learn_activity(void) {
  static struct learn_activity* both;
  static struct learn_activity alone[2]; /* for a program that runs without the judge */
  if (both) return both;
  const char* path = getenv("LEARN_ACTIVITY");
  const int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  void* shared = mmap(NULL, sizeof alone, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return both = shared == MAP_FAILED ? alone : shared;
}

/* Call after each action. */
static inline void learn_acts(void) {
  const int error = errno;
  struct learn_activity* own = &learn_activity()[LEARN_SELF];
  __atomic_store_n(&own->is_waiting, 0, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&own->actions, 1, __ATOMIC_SEQ_CST);
  errno = error;
}

/* Call before a wait, and when a look has found nothing. */
static inline void learn_waits(void) {
  const int error = errno;
  __atomic_store_n(&learn_activity()[LEARN_SELF].is_waiting, 1, __ATOMIC_SEQ_CST);
  errno = error;
}

/* Returns how many actions the other program has done. */
static inline uint32_t learn_actions(void) {
  return __atomic_load_n(&learn_activity()[LEARN_OTHER].actions, __ATOMIC_SEQ_CST);
}

/* One wait. Initialise it with {0}. */
struct learn_looks {
  uint32_t actions; /* of the other program, at the latest look */
  int rounds;       /* without an action of a program that waits */
  int all;          /* rounds */
};

/* Sleeps for a moment, but not at the first looks: the answer may be near. */
static inline void learn_rest(struct learn_looks* looks) {
  const struct timespec moment = {.tv_nsec = 500000};
  if (looks->all++ > 20) nanosleep(&moment, NULL);
}

/* Call when a look has found nothing. Sleeps for a moment. Returns whether the wait is in vain: the
 * other program has ended or waits, too, for more than `most` rounds, or it is much too late. */
static inline int learn_is_vain(struct learn_looks* looks, int most) {
  const uint32_t actions = learn_actions();
  const int is_waiting =
      __atomic_load_n(&learn_activity()[LEARN_OTHER].is_waiting, __ATOMIC_SEQ_CST) ||
      learn_has_ended(learn_meet());
  looks->rounds = is_waiting && actions == looks->actions ? looks->rounds + 1 : 0;
  looks->actions = actions;
  learn_rest(looks);
  return looks->rounds > most || looks->all > LEARN_MOST_ROUNDS;
}

/* Sends `length` bytes to the other program. */
static inline void learn_put(int socket, const void* data, size_t length) {
  const char* at = data;
  learn_acts();
  while (length > 0) {
    const ssize_t sent = send(socket, at, length, MSG_NOSIGNAL);
    if (sent <= 0) die("the other program has ended");
    at += sent;
    length -= (size_t)sent;
  }
}

/* Receives exactly `length` bytes from the other program. */
static inline void learn_get(int socket, void* data, size_t length) {
  char* at = data;
  learn_waits();
  while (length > 0) {
    const ssize_t got = recv(socket, at, length, 0);
    if (got == 0) errno = 0;
    if (got <= 0) die("the other program has ended");
    at += got;
    length -= (size_t)got;
  }
  learn_acts();
}

/* Waits until the other program has called learn_sync(), too. */
static inline void learn_sync(int socket) {
  char token = 0;
  learn_put(socket, &token, 1);
  learn_get(socket, &token, 1);
}

/* Devices and queue pairs -----------------------------------------------------------------------
 */

/* Opens the first device whose port 1 is active. */
static inline struct ibv_context* learn_open(void) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  if (!list) die("ibv_get_device_list");
  struct ibv_context* found = NULL;
  for (int i = 0; i < count && !found; i++) {
    struct ibv_context* context = ibv_open_device(list[i]);
    struct ibv_port_attr port;
    if (!context) die("ibv_open_device");
    if (ibv_query_port(context, 1, &port) == 0 && port.state == IBV_PORT_ACTIVE) {
      found = context;
    } else {
      ibv_close_device(context);
    }
  }
  ibv_free_device_list(list);
  errno = 0;
  if (!found) die("no device has an active port");
  return found;
}

/* Returns the index of the GID that RoCE v2 uses for an IPv4 address. */
static inline int learn_gid_index(struct ibv_context* context) {
  struct ibv_gid_entry entry;
  for (int i = 0; ibv_query_gid_ex(context, 1, (uint32_t)i, &entry, 0) == 0 || errno == ENODATA;
       i++) {
    const struct in6_addr* address = (const struct in6_addr*)entry.gid.raw;
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && IN6_IS_ADDR_V4MAPPED(address)) return i;
  }
  errno = 0;
  die("the device has no GID for RoCE v2 and IPv4");
}

/* What the other end of a connection must know about a queue pair. */
struct learn_address {
  union ibv_gid gid;
  uint32_t qp_num;
  uint32_t psn;
};

/* A queue pair, and all that it needs. learn_connect() creates each member that is NULL. */
struct learn_end {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_comp_channel* channel; /* remains NULL: the caller makes it if it needs one */
  struct ibv_cq* cq;                /* for sends and receives */
  struct ibv_srq* srq;              /* remains NULL: then the queue pair has receives of its own */
  struct ibv_qp* qp;
  uint32_t depth; /* of the send queue and of the receive queue; 0 means 16 */
  int rnr_retry;  /* 0 to 6; any other value means 7: without limit. See learn_no_retry. */
  int sq_sig_all; /* as in struct ibv_qp_init_attr */
  int is_created; /* set by learn_create() */
};

/* Value of learn_end.rnr_retry: a Send without a receive at the peer fails at once. */
enum { learn_no_retry = -1 };

/* Creates the queue pair in INIT, so that receives can be posted. */
static inline void learn_create(struct learn_end* end) {
  if (!end->context) end->context = end->pd ? end->pd->context : learn_open();
  if (!end->pd) end->pd = ibv_alloc_pd(end->context);
  if (!end->pd) die("ibv_alloc_pd");
  const uint32_t depth = end->depth ? end->depth : 16;
  if (!end->cq) end->cq = ibv_create_cq(end->context, (int)(4 * depth), NULL, end->channel, 0);
  if (!end->cq) die("ibv_create_cq");
  struct ibv_qp_init_attr init = {
      .send_cq = end->cq,
      .recv_cq = end->cq,
      .srq = end->srq,
      .cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = end->sq_sig_all,
  };
  end->qp = ibv_create_qp(end->pd, &init);
  if (!end->qp) die("ibv_create_qp");
  struct ibv_qp_attr attr = {
      .qp_state = IBV_QPS_INIT,
      .port_num = 1,
      .qp_access_flags =
          IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
  };
  errno = ibv_modify_qp(end->qp, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (errno) die("ibv_modify_qp to INIT");
  end->is_created = 1;
}

/* Connects the queue pair to that of the other program, which must call learn_connect(), too. Calls
 * learn_create() unless the caller has. When it returns, both queue pairs are in RTS. */
static inline void learn_connect(struct learn_end* end, int socket) {
  if (!end->is_created) learn_create(end);
  const int gid_index = learn_gid_index(end->context);
  struct learn_address own = {.qp_num = end->qp->qp_num, .psn = end->qp->qp_num & 0xffffff};
  struct learn_address peer;
  if (ibv_query_gid(end->context, 1, gid_index, &own.gid)) die("ibv_query_gid");
  learn_put(socket, &own, sizeof own);
  learn_get(socket, &peer, sizeof peer);
  struct ibv_qp_attr attr = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = peer.qp_num,
      .rq_psn = peer.psn,
      .max_dest_rd_atomic = 4,
      .min_rnr_timer = 12, /* 0.64 ms */
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = peer.gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64}},
  };
  errno = ibv_modify_qp(end->qp, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (errno) die("ibv_modify_qp to RTR");
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS,
      .sq_psn = own.psn,
      .timeout = 14, /* 67 ms */
      .retry_cnt = 7,
      .rnr_retry = (uint8_t)(end->rnr_retry == learn_no_retry ? 0
                             : end->rnr_retry > 0             ? end->rnr_retry
                                                              : 7),
      .max_rd_atomic = 4,
  };
  errno = ibv_modify_qp(end->qp, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (errno) die("ibv_modify_qp to RTS");
  learn_sync(socket);
}

/* Destroys the queue pair and the completion queue, but no other member. */
static inline void learn_disconnect(struct learn_end* end) {
  if (ibv_destroy_qp(end->qp)) die("ibv_destroy_qp");
  if (ibv_destroy_cq(end->cq)) die("ibv_destroy_cq");
  end->qp = NULL;
  end->cq = NULL;
  end->is_created = 0;
}

/* Polls until the next completion. Returns 0 if the other program ends first. */
static inline int learn_poll(struct ibv_cq* cq, int socket, struct ibv_wc* wc) {
  for (struct learn_looks looks = {0};; learn_rest(&looks)) {
    const int count = ibv_poll_cq(cq, 1, wc);
    if (count < 0) die("ibv_poll_cq");
    if (count > 0) return 1;
    if (learn_has_ended(socket)) return ibv_poll_cq(cq, 1, wc) == 1;
  }
}

/* Posts one request with one buffer. `opcode` is IBV_WR_SEND, _RDMA_WRITE or _RDMA_READ. */
static inline void learn_post(struct ibv_qp* qp, enum ibv_wr_opcode opcode, struct ibv_mr* mr,
                              void* address, uint32_t length, uint64_t remote_address,
                              uint32_t rkey) {
  struct ibv_sge sge = {.addr = (uintptr_t)address, .length = length, .lkey = mr->lkey};
  struct ibv_send_wr* bad;
  struct ibv_send_wr wr = {
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = opcode,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = remote_address, .rkey = rkey},
  };
  errno = ibv_post_send(qp, &wr, &bad);
  if (errno) die("ibv_post_send");
}

/* Posts one receive. */
static inline void learn_post_receive(struct ibv_qp* qp, struct ibv_mr* mr, void* address,
                                      uint32_t length) {
  struct ibv_sge sge = {.addr = (uintptr_t)address, .length = length, .lkey = mr->lkey};
  struct ibv_recv_wr* bad;
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
  errno = ibv_post_recv(qp, &wr, &bad);
  if (errno) die("ibv_post_recv");
}

/* Patterns ---------------------------------------------------------------------------------------
 */

/* Fills memory with a text that depends on `seed`. */
static inline void learn_fill(void* memory, size_t length, unsigned seed) {
  unsigned char* bytes = memory;
  for (size_t i = 0; i < length; i++) bytes[i] = (unsigned char)('A' + (i * 7 + seed * 11) % 53);
}

/* Returns how many of the bytes differ from those that learn_fill() writes. */
static inline size_t learn_differences(const void* memory, size_t length, unsigned seed) {
  const unsigned char* bytes = memory;
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += bytes[i] != 'A' + (i * 7 + seed * 11) % 53;
  return count;
}

#endif
