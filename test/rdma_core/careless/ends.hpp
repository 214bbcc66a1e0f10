// SPDX-License-Identifier: Apache-2.0
// Two connected queue pairs of one process, with the objects that small programs need. The programs
// are linked to the distribution's libibverbs, as any program is. A program destroys an object only
// if that is part of its test.
#pragma once

#include "../support/verbs_end.hpp"

namespace careless {

using rdma_core_test::check;
using End = rdma_core_test::VerbsEnd;
using Shape = rdma_core_test::EndOptions;

inline constexpr std::size_t kMemory = 1 << 16;
inline constexpr int kRights = rdma_core_test::kAllRights;

inline ibv_context* device() {
  static ibv_context* const kDevice = rdma_core_test::first_device();
  return kDevice;
}

inline ibv_pd* domain() {
  static ibv_pd* const kDomain = ibv_alloc_pd(device());
  return kDomain;
}

/// Returns `shape` with queues of 16 requests, without sq_sig_all, and with the shared device and
/// protection domain.
inline Shape small(Shape shape) {
  shape.cap = {.max_send_wr = 16,
               .max_recv_wr = 16,
               .max_send_sge = 2,
               .max_recv_sge = 2,
               .max_inline_data = 64};
  shape.signal_all = 0;
  shape.context = device();
  shape.pd = domain();
  return shape;
}

struct Pair {
  explicit Pair(const Shape& shape = {}) : a(small(shape)), b(small(shape)) {
    a.bring_up(rdma_core_test::rc_attributes(device(), b.qp, kRights, 4));
    b.bring_up(rdma_core_test::rc_attributes(device(), a.qp, kRights, 4));
  }
  End a;
  End b;
};

// Always inlined, so that careful mode reports the line of the caller.
#define CARELESS_INLINE [[gnu::always_inline]] inline

CARELESS_INLINE ibv_wc poll(ibv_cq* cq) {
  ibv_wc wc{};
  const auto until = std::chrono::steady_clock::now() + rdma_core_test::kLimit;
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
    check(std::chrono::steady_clock::now() < until, "no completion comes");
  }
  return wc;
}

CARELESS_INLINE int post(const End& from, ibv_wr_opcode opcode, ibv_sge sge, const End& to,
                         unsigned flags = IBV_SEND_SIGNALED, std::size_t remote = 0) {
  ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = opcode};
  wr.send_flags = flags;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {.remote_addr = to.remote(remote), .compare_add = 1, .rkey = to.mr->rkey};
  } else {
    wr.wr.rdma = {.remote_addr = to.remote(remote), .rkey = to.mr->rkey};
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(from.qp, &wr, &bad);
}

/// Takes and acknowledges the next event of the completion queue of `end`.
CARELESS_INLINE void take_event(const End& end) {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  check(ibv_get_cq_event(end.channel, &cq, &context) == 0, "ibv_get_cq_event");
  ibv_ack_cq_events(cq, 1);
}

CARELESS_INLINE int receive(const End& at, ibv_sge sge) {
  ibv_recv_wr wr{.sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  return at.srq != nullptr ? ibv_post_srq_recv(at.srq, &wr, &bad) : ibv_post_recv(at.qp, &wr, &bad);
}

}  // namespace careless
