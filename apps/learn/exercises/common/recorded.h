// SPDX-License-Identifier: Apache-2.0
// recorded.h: learn.h, with the calls of an exercise visible to the judge. Each post, poll and wait
// prints a line "did: FILE:LINE CALL ..." on standard error. The macros call the functions of
// libibverbs with the same arguments.
//
// One thing differs. Most adapters give a region's lkey and rkey the same value, so that a program
// which mixes them up works by luck. Here the two differ, as they do on other adapters.
//
// A peer defines LEARN_PEER first: its calls are not recorded, and its keys are those of the
// device.
#ifndef RECORDED_H
#define RECORDED_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#ifndef LEARN_PEER
enum { LEARN_LKEY_MASK = 0x5a5a0000 };

static inline void learn_acts(void); /* of learn.h, which uses the macros below */
static inline void learn_waits(void);

/* Prints one call, unless the program repeats the same call, or the same two calls, for a long
 * time. Prints 4000 lines at most. */
__attribute__((format(printf, 3, 4))) static inline void learn_did(const char* path, int line,
                                                                   const char* format, ...) {
  static char latest[2][250], printed[250];
  static unsigned lines, calls, repeated;
  const int error = errno;
  learn_acts();
  const char* slash = strrchr(path, '/');
  char text[250];
  const int head = snprintf(text, 60, "did: %s:%d ", slash ? slash + 1 : path, line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + head, sizeof text - (size_t)head, format, arguments);
  va_end(arguments);
  char* const before = latest[calls++ % 2];
  const char* const last = latest[calls % 2];
  const int was_left_out = repeated >= 8;
  repeated = strcmp(text, before) == 0 ? repeated + 1 : 0;
  if (repeated < 8 && ++lines < 4000) {
    /* of two calls that alternate, neither may seem to follow itself */
    if (was_left_out && strcmp(last, printed) == 0) fprintf(stderr, "%s\n", before);
    if (was_left_out) fprintf(stderr, "%s\n", last);
    fprintf(stderr, "%s\n", text);
    strcpy(printed, text);
  }
  strcpy(before, text);
  errno = error;
}

static inline struct ibv_mr* learn_did_reg(const char* path, int line, struct ibv_mr* mr,
                                           size_t length, int access) {
  if (mr) mr->lkey ^= LEARN_LKEY_MASK;
  learn_did(path, line, "reg_mr length=%zu access=%#x lkey=%#x rkey=%#x", length, (unsigned)access,
            mr ? mr->lkey : 0, mr ? mr->rkey : 0);
  return mr;
}

/* Copies a scatter/gather list, with the keys that the device knows. */
static inline struct ibv_sge* learn_device_keys(struct ibv_sge* list, int count,
                                                struct ibv_sge copy[4]) {
  if (!list || count < 1 || count > 4) return list;
  for (int i = 0; i < count; i++) {
    copy[i] = list[i];
    copy[i].lkey ^= LEARN_LKEY_MASK;
  }
  return copy;
}

static inline void learn_did_send(const char* path, int line, const struct ibv_qp* qp,
                                  const struct ibv_send_wr* wr, int error) {
  static const char* const names[] = {"WRITE", "WRITE_IMM", "SEND",      "SEND_IMM", "READ",
                                      "CAS",   "FETCH_ADD", "LOCAL_INV", "BIND_MW",  "SEND_INV"};
  const unsigned opcode = wr->opcode;
  const struct ibv_sge* piece = wr->num_sge > 0 ? wr->sg_list : NULL;
  char more[60] = "";
  if (wr->opcode == IBV_WR_BIND_MW) {
    snprintf(more, sizeof more, " rkey=%#x bytes=%llu", wr->bind_mw.rkey,
             (unsigned long long)wr->bind_mw.bind_info.length);
  }
  if (wr->opcode == IBV_WR_LOCAL_INV) {
    snprintf(more, sizeof more, " rkey=%#x", wr->invalidate_rkey);
  }
  if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    snprintf(more, sizeof more, " compare=%llu swap=%llu",
             (unsigned long long)wr->wr.atomic.compare_add, (unsigned long long)wr->wr.atomic.swap);
  }
  learn_did(path, line, "post_send %s qp=%u wr_id=%llu address=%#llx length=%u%s%s%s%s%s",
            opcode < 10 ? names[opcode] : "other", qp->qp_num, (unsigned long long)wr->wr_id,
            piece ? (unsigned long long)piece->addr : 0, piece ? piece->length : 0, more,
            wr->send_flags & IBV_SEND_SIGNALED ? " signaled" : "",
            wr->send_flags & IBV_SEND_FENCE ? " fence" : "", error ? " refused: " : "",
            error ? strerror(error) : "");
}

static inline int learn_did_poll(const char* path, int line, int count, const struct ibv_wc* wc) {
  if (count == 0) learn_waits();
  for (int i = 0; i < count; i++) {
    char more[30] = "";
    if (!wc[i].status && wc[i].wc_flags & IBV_WC_WITH_INV) {
      snprintf(more, sizeof more, " invalidated=%#x", wc[i].invalidated_rkey);
    }
    learn_did(path, line, "polled qp=%u wr_id=%llu status=%d%s%s", wc[i].qp_num,
              (unsigned long long)wc[i].wr_id, wc[i].status,
              wc[i].status                 ? " failed"
              : wc[i].opcode & IBV_WC_RECV ? " receive"
                                           : "",
              more);
  }
  return count;
}

static inline int learn_did_call(const char* path, int line, const char* call, int error) {
  learn_did(path, line, "%s%s%s", call, error ? " refused: " : "", error ? strerror(error) : "");
  return error;
}

/* Exchanges the lkey of the region that a window is bound to for the other one. */
static inline void learn_exchange_key(const struct ibv_send_wr* wr) {
  if (wr->opcode != IBV_WR_BIND_MW || !wr->bind_mw.bind_info.mr) return;
  wr->bind_mw.bind_info.mr->lkey ^= LEARN_LKEY_MASK;
}

/* Posts the requests of a list one by one, each with the keys that the device knows. */
#define LEARN_POST(type, post, queue, list, bad, exchange, record)         \
  ({                                                                       \
    int error_ = 0;                                                        \
    for (type* wr_ = (list); wr_ && !error_; wr_ = wr_->next) {            \
      type one_ = *wr_;                                                    \
      type* ignored_ = NULL;                                               \
      struct ibv_sge copy_[4];                                             \
      one_.next = NULL;                                                    \
      one_.sg_list = learn_device_keys(wr_->sg_list, wr_->num_sge, copy_); \
      exchange;                                                            \
      error_ = (post)((queue), &one_, &ignored_);                          \
      exchange;                                                            \
      record;                                                              \
      if (error_) *(bad) = wr_;                                            \
    }                                                                      \
    error_;                                                                \
  })

#undef ibv_reg_mr
#define ibv_reg_mr(pd, memory, size, access)                                                \
  learn_did_reg(__FILE__, __LINE__, (ibv_reg_mr)((pd), (memory), (size), (access)), (size), \
                (int)(access))
#undef ibv_reg_mr_iova
#define ibv_reg_mr_iova(pd, memory, size, iova, access)                                          \
  learn_did_reg(__FILE__, __LINE__, (ibv_reg_mr_iova)((pd), (memory), (size), (iova), (access)), \
                (size), (int)(access))
#define ibv_post_send(qp, list, bad)                                                      \
  LEARN_POST(struct ibv_send_wr, ibv_post_send, qp, list, bad, learn_exchange_key(&one_), \
             learn_did_send(__FILE__, __LINE__, (qp), wr_, error_))
#define ibv_post_recv(qp, list, bad)                                                     \
  LEARN_POST(struct ibv_recv_wr, ibv_post_recv, qp, list, bad, (void)0,                  \
             learn_did(__FILE__, __LINE__, "post_recv qp=%u wr_id=%llu address=%#llx%s", \
                       (qp)->qp_num, (unsigned long long)wr_->wr_id,                     \
                       wr_->num_sge > 0 ? (unsigned long long)wr_->sg_list->addr : 0,    \
                       error_ ? " refused" : ""))
#define ibv_post_srq_recv(srq, list, bad)                                    \
  LEARN_POST(struct ibv_recv_wr, ibv_post_srq_recv, srq, list, bad, (void)0, \
             learn_did(__FILE__, __LINE__, "post_srq_recv wr_id=%llu%s",     \
                       (unsigned long long)wr_->wr_id, error_ ? " refused" : ""))
#define ibv_poll_cq(cq, count, wc)                                              \
  ({                                                                            \
    struct ibv_wc* wc_ = (wc);                                                  \
    learn_did_poll(__FILE__, __LINE__, (ibv_poll_cq)((cq), (count), wc_), wc_); \
  })
#define ibv_req_notify_cq(cq, solicited)                                    \
  learn_did_call(__FILE__, __LINE__, (solicited) ? "arm solicited" : "arm", \
                 (ibv_req_notify_cq)((cq), (solicited)))
#define ibv_get_cq_event(channel, cq, context)                       \
  (learn_waits(), learn_did_call(__FILE__, __LINE__, "get_cq_event", \
                                 (ibv_get_cq_event)((channel), (cq), (context)) ? errno : 0))
#define ibv_ack_cq_events(cq, count) \
  (learn_did(__FILE__, __LINE__, "ack_cq_events"), (ibv_ack_cq_events)((cq), (count)))
#define ibv_modify_qp(qp, attr, mask)                                                           \
  ({                                                                                            \
    static const char* const states_[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};  \
    struct ibv_qp_attr* attr_ = (attr);                                                         \
    const int mask_ = (mask);                                                                   \
    const int error_ = (ibv_modify_qp)((qp), attr_, mask_);                                     \
    const int has_state_ = (mask_ & IBV_QP_STATE) && (unsigned)attr_->qp_state < 7;             \
    learn_did(__FILE__, __LINE__, "modify_qp %s%s", has_state_ ? states_[attr_->qp_state] : "", \
              error_ ? " refused" : "");                                                        \
    error_;                                                                                     \
  })
#define rdma_get_cm_event(channel, place)                                                 \
  ({                                                                                      \
    struct rdma_cm_event** place_ = (place);                                              \
    learn_waits();                                                                        \
    const int got_ = (rdma_get_cm_event)((channel), place_);                              \
    if (got_ == 0) {                                                                      \
      learn_did(__FILE__, __LINE__, "get_cm_event %s", rdma_event_str((*place_)->event)); \
    }                                                                                     \
    got_;                                                                                 \
  })
#define rdma_ack_cm_event(event) \
  (learn_did(__FILE__, __LINE__, "ack_cm_event"), (rdma_ack_cm_event)(event))
#define rdma_accept(id, param) \
  learn_did_call(__FILE__, __LINE__, "accept", (rdma_accept)((id), (param)) ? errno : 0)
#define rdma_create_qp(id, pd, attr) \
  learn_did_call(__FILE__, __LINE__, "create_qp", (rdma_create_qp)((id), (pd), (attr)) ? errno : 0)
#define rdma_destroy_id(id) \
  (learn_did(__FILE__, __LINE__, "destroy_id"), learn_waits(), (rdma_destroy_id)(id))
#define rdma_destroy_qp(id) \
  (learn_did(__FILE__, __LINE__, "destroy_qp"), learn_waits(), (rdma_destroy_qp)(id))
#define ibv_alloc_mw(pd, type) \
  (learn_did(__FILE__, __LINE__, "alloc_mw type=%d", (int)(type)), (ibv_alloc_mw)((pd), (type)))
#define epoll_wait(epoll, events, count, limit)                                   \
  ({                                                                              \
    const int limit_ = (limit);                                                   \
    learn_waits();                                                                \
    const int got_ = (epoll_wait)((epoll), (events), (count), limit_);            \
    learn_did(__FILE__, __LINE__, "epoll_wait limit=%d events=%d", limit_, got_); \
    got_;                                                                         \
  })
#define ibv_destroy_qp(qp) \
  (learn_waits(), learn_did_call(__FILE__, __LINE__, "destroy_qp", (ibv_destroy_qp)(qp)))
#define ibv_dereg_mr(mr) learn_did_call(__FILE__, __LINE__, "dereg_mr", (ibv_dereg_mr)(mr))
#endif

#include "learn.h"

#ifndef LEARN_PEER
#define learn_put(socket, data, length) \
  (learn_did(__FILE__, __LINE__, "put"), (learn_put)((socket), (data), (length)))
#endif

/* Polls for the next completion. Returns 0 if the wait is in vain; see learn_is_vain(). */
static inline int learn_wait_at(const char* path, int line, struct ibv_cq* cq, struct ibv_wc* wc) {
  struct learn_looks looks = {0};
  int count = 0, is_vain = 0;
  while ((count = (ibv_poll_cq)(cq, 1, wc)) == 0 && !is_vain) {
    learn_waits();
    is_vain = learn_is_vain(&looks, LEARN_ROUNDS);
  }
  if (count < 0) die("ibv_poll_cq");
#ifndef LEARN_PEER
  learn_did_poll(path, line, count, wc);
  if (count == 0) learn_did(path, line, "waited in vain");
#else
  learn_acts();
  (void)path;
  (void)line;
#endif
  return count;
}
#define learn_wait(cq, wc) learn_wait_at(__FILE__, __LINE__, (cq), (wc))

#ifdef LEARN_PEER
/* Returns whether the program sends something over the socket, or ends, before it has done
 * `actions` other actions or has waited for `rounds` rounds. */
static inline int learn_hears_within(int program, uint32_t actions, int rounds) {
  const uint32_t before = learn_actions();
  struct learn_looks looks = {0};
  char octet;
  do {
    const ssize_t got = recv(program, &octet, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0) return 1;
  } while (learn_actions() - before < actions && !learn_is_vain(&looks, rounds));
  return 0;
}

/* Returns whether the program sends something over the socket, or ends, before the wait is in vain.
 */
static inline int learn_hears(int program) {
  learn_waits();
  return learn_hears_within(program, 20000, LEARN_ROUNDS);
}
#endif

/* Polls for the next completion, and ends the program if there is none or if it has failed. */
#define learn_await(cq)                                                                    \
  ({                                                                                       \
    struct ibv_wc got_ = {0};                                                              \
    const int count_ = learn_wait((cq), &got_);                                            \
    errno = 0;                                                                             \
    if (!count_) die("no completion");                                                     \
    if (got_.status != IBV_WC_SUCCESS) {                                                   \
      die("request %llu: status %d, %s", (unsigned long long)got_.wr_id, (int)got_.status, \
          ibv_wc_status_str(got_.status));                                                 \
    }                                                                                      \
    got_;                                                                                  \
  })

/* Registers memory with IBV_ACCESS_LOCAL_WRITE and the rights in `access`. */
#define learn_register(pd, memory, size, access)                                                \
  ({                                                                                            \
    struct ibv_mr* mr_ = ibv_reg_mr((pd), (memory), (size), IBV_ACCESS_LOCAL_WRITE | (access)); \
    if (!mr_) die("ibv_reg_mr");                                                                \
    mr_;                                                                                        \
  })

#endif
