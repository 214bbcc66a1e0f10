// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a generated sequence at two connected queue pairs, a and b, of one device.
//   cc -o sequence THIS_FILE -libverbs && ./sequence DEVICE [PORT [GID_INDEX]]
// The exit status is 1 if the device differs from what is expected, and 0 if it does not.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Regions of each end. STALE was deregistered, UNKNOWN_KEY never existed.
enum { ALL, NO_REMOTE_RIGHTS, NO_LOCAL_WRITE, SHORT_REGION, STALE, UNKNOWN_KEY, REGIONS };
enum { MEMORY = 1 << 17, SHORT = MEMORY - 4096, ALL_RIGHTS = 15, QUIET_MS = 1000 };

struct end {
  char name;
  char* memory;
  struct ibv_pd* pd;
  struct ibv_cq *send_cq, *recv_cq;
  uint32_t lkeys[REGIONS], rkeys[REGIONS];
  struct ibv_qp_init_attr init;
  struct ibv_qp* qp;
};

static struct ibv_context* context;
static struct ibv_port_attr port_attr;
static union ibv_gid gid;
static int port = 1, gid_index = 0;
static struct end ends[2];
static const char* wanted;  // a line that show() looks for, or how it begins
static int is_seen;

static void show(const char* format, ...) {
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  puts(line);
  const size_t length = strlen(wanted);
  const int is_beginning = length != 0 && wanted[length - 1] == ' ';
  if (is_beginning ? strncmp(line, wanted, length) == 0 : strcmp(line, wanted) == 0) is_seen = 1;
}

static void must(int holds, const char* call) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", call, strerror(errno));
  exit(2);
}

static void open_device(const char* name) {
  struct ibv_device** const list = ibv_get_device_list(NULL);
  must(list != NULL, "ibv_get_device_list");
  for (int i = 0; list[i] != NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  must(context != NULL, "ibv_open_device");
  must(ibv_query_port(context, (uint8_t)port, &port_attr) == 0, "ibv_query_port");
  must(ibv_query_gid(context, (uint8_t)port, gid_index, &gid) == 0, "ibv_query_gid");
  fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
}

static struct ibv_mr* region(struct end* end, int at, size_t length, int rights) {
  struct ibv_mr* const mr = ibv_reg_mr(end->pd, end->memory, length, rights);
  must(mr != NULL, "ibv_reg_mr");
  end->lkeys[at] = mr->lkey;
  end->rkeys[at] = mr->rkey;
  return mr;
}

static void make(struct end* end, char name, int shares_cq, int signal_all, struct ibv_qp_cap cap,
                 uint64_t seed) {
  end->name = name;
  end->memory = aligned_alloc(4096, MEMORY);
  for (size_t i = 0; i < MEMORY; ++i) end->memory[i] = (char)((i * 131 + (i >> 8) * 17) ^ seed);
  end->pd = ibv_alloc_pd(context);
  must(end->pd != NULL, "ibv_alloc_pd");
  end->send_cq = ibv_create_cq(context, 256, NULL, NULL, 0);
  end->recv_cq = shares_cq ? end->send_cq : ibv_create_cq(context, 256, NULL, NULL, 0);
  must(end->send_cq != NULL && end->recv_cq != NULL, "ibv_create_cq");
  region(end, ALL, MEMORY, ALL_RIGHTS);
  region(end, NO_REMOTE_RIGHTS, MEMORY, IBV_ACCESS_LOCAL_WRITE);
  region(end, NO_LOCAL_WRITE, MEMORY, IBV_ACCESS_REMOTE_READ);
  region(end, SHORT_REGION, SHORT, ALL_RIGHTS);
  must(ibv_dereg_mr(region(end, STALE, MEMORY, ALL_RIGHTS)) == 0, "ibv_dereg_mr");
  end->lkeys[UNKNOWN_KEY] = end->lkeys[ALL] ^ 0xFF00;
  end->rkeys[UNKNOWN_KEY] = end->rkeys[ALL] ^ 0xFF00;
  end->init = (struct ibv_qp_init_attr){.send_cq = end->send_cq,
                                        .recv_cq = end->recv_cq,
                                        .cap = cap,
                                        .qp_type = IBV_QPT_RC,
                                        .sq_sig_all = signal_all};
  struct ibv_qp_init_attr init = end->init;
  end->qp = ibv_create_qp(end->pd, &init);
  must(end->qp != NULL, "ibv_create_qp");
}

static void replace(struct end* end) {
  struct ibv_qp_init_attr init = end->init;
  must(ibv_destroy_qp(end->qp) == 0, "ibv_destroy_qp");
  end->qp = ibv_create_qp(end->pd, &init);
  must(end->qp != NULL, "ibv_create_qp");
}

static struct ibv_sge sge(struct end* end, size_t at, uint32_t length, int region) {
  return (struct ibv_sge){(uintptr_t)end->memory + at, length, end->lkeys[region]};
}

static struct ibv_send_wr request(struct end* end, uint64_t id, enum ibv_wr_opcode opcode,
                                  unsigned flags, struct ibv_sge* list, int count, uint32_t imm,
                                  size_t remote_at, int remote_region, uint64_t compare,
                                  uint64_t operand) {
  struct end* const peer = end == &ends[0] ? &ends[1] : &ends[0];
  struct ibv_send_wr wr = {.wr_id = id,
                           .sg_list = list,
                           .num_sge = count,
                           .opcode = opcode,
                           .send_flags = flags,
                           .imm_data = imm};
  const uint64_t address = (uintptr_t)peer->memory + remote_at;
  const uint32_t rkey = peer->rkeys[remote_region];
  if (opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
    wr.wr.atomic.remote_addr = address;
    wr.wr.atomic.rkey = rkey;
    wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? compare : operand;
    wr.wr.atomic.swap = operand;
  } else {
    wr.wr.rdma.remote_addr = address;
    wr.wr.rdma.rkey = rkey;
  }
  return wr;
}

static void post_send(int step, struct end* end, struct ibv_send_wr* list, int count) {
  struct ibv_send_wr* bad = NULL;
  for (int i = 0; i + 1 < count; ++i) list[i].next = &list[i + 1];
  show("step %d: returns %d", step, ibv_post_send(end->qp, list, &bad));
}

static void post_recv(int step, struct end* end, struct ibv_recv_wr* list, int count) {
  struct ibv_recv_wr* bad = NULL;
  for (int i = 0; i + 1 < count; ++i) list[i].next = &list[i + 1];
  show("step %d: returns %d", step, ibv_post_recv(end->qp, list, &bad));
}

static void show_state(int step, struct end* end) {
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  must(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) == 0, "ibv_query_qp");
  show("step %d: %c state %d", step, end->name, attr.qp_state);
}

static void modify(int step, struct end* end, enum ibv_qp_state state, unsigned rights,
                   uint8_t reads) {
  struct end* const peer = end == &ends[0] ? &ends[1] : &ends[0];
  struct ibv_qp_attr attr = {.qp_state = state};
  int mask = IBV_QP_STATE;
  attr.port_num = attr.ah_attr.port_num = (uint8_t)port;
  attr.qp_access_flags = rights;
  attr.path_mtu = port_attr.active_mtu;
  attr.dest_qp_num = peer->qp->qp_num;
  attr.rq_psn = attr.sq_psn = 1;
  attr.max_dest_rd_atomic = reads;
  attr.max_rd_atomic = 4;
  attr.min_rnr_timer = 1;
  attr.timeout = 20;
  attr.retry_cnt = 7;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.dlid = port_attr.lid;
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.sgid_index = (uint8_t)gid_index;
  attr.ah_attr.grh.hop_limit = 64;
  if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (state == IBV_QPS_RTR) {
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  if (state == IBV_QPS_RTS) {
    mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
            IBV_QP_MAX_QP_RD_ATOMIC;
  }
  show("step %d: returns %d", step, ibv_modify_qp(end->qp, &attr, mask));
  show_state(step, end);
}

static int poll_one(struct end* end, struct ibv_cq* cq) {
  struct ibv_wc wc;
  if (ibv_poll_cq(cq, 1, &wc) != 1) return 0;
  char more[80] = "";
  if (wc.status == IBV_WC_SUCCESS) {
    int length = snprintf(more, sizeof more, " opcode %d", wc.opcode);
    if (wc.opcode & IBV_WC_RECV) {
      length += snprintf(more + length, sizeof more - (size_t)length, " bytes %u", wc.byte_len);
      if (wc.wc_flags & IBV_WC_WITH_IMM) {
        snprintf(more + length, sizeof more - (size_t)length, " imm %u", wc.imm_data);
      }
    }
  }
  show("%c completion %llu: status %d%s", end->name, (unsigned long long)wc.wr_id, wc.status, more);
  return 1;
}

static int take_event(void) {
  struct ibv_async_event event;
  if (ibv_get_async_event(context, &event) != 0) return 0;
  const char name = event.element.qp == ends[1].qp ? 'b' : 'a';
  const int type = event.event_type;
  ibv_ack_async_event(&event);
  show("%c event %d", name, type);
  return 1;
}

// Polls until nothing has come for a while.
static void settle(int step) {
  struct timespec now, last;
  clock_gettime(CLOCK_MONOTONIC, &last);
  do {
    int got = take_event();
    for (int i = 0; i < 2; ++i) {
      got += poll_one(&ends[i], ends[i].send_cq) + poll_one(&ends[i], ends[i].recv_cq);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (got != 0) last = now;
  } while ((now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000 < QUIET_MS);
  for (int i = 0; i < 2; ++i) show_state(step, &ends[i]);
}

static void show_memory(struct end* end, size_t at) {
  show("%c memory %zu: %02x", end->name, at, (unsigned char)end->memory[at]);
}
