// SPDX-License-Identifier: Apache-2.0
// Two connected queue pairs of one process, with what small programs about them need. Linked to the
// distribution's libibverbs, as any program.
#pragma once

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "../rc_steps.hpp"

namespace careless {

inline constexpr std::size_t kMemory = 1 << 16;
inline constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

inline void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

struct Shape {
  int cqe = 64;
  std::uint32_t max_send = 16;
  bool shared = false;    ///< receives
  bool built = false;     ///< requests call by call
  bool by_calls = false;  ///< completions, too
};

inline ibv_context* device() {
  static ibv_context* const kDevice = [] {
    ibv_device** list = ibv_get_device_list(nullptr);
    check(list != nullptr && list[0] != nullptr, "no device");
    ibv_context* out = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    check(out != nullptr, "ibv_open_device");
    return out;
  }();
  return kDevice;
}

inline ibv_pd* domain() {
  static ibv_pd* const kDomain = ibv_alloc_pd(device());
  return kDomain;
}

struct End {
  explicit End(const Shape& shape) {
    channel = ibv_create_comp_channel(device());
    if (shape.by_calls) {
      ibv_cq_init_attr_ex attr{};
      attr.cqe = static_cast<std::uint32_t>(shape.cqe);
      attr.channel = channel;
      attr.wc_flags = IBV_WC_STANDARD_FLAGS;
      cq_ex = ibv_create_cq_ex(device(), &attr);
      check(cq_ex != nullptr, "ibv_create_cq_ex");
      cq = ibv_cq_ex_to_cq(cq_ex);
    } else {
      cq = ibv_create_cq(device(), shape.cqe, nullptr, channel, 0);
    }
    memory = static_cast<char*>(
        mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mr = ibv_reg_mr(domain(), memory, kMemory, kRights);
    if (shape.shared) {
      ibv_srq_init_attr attr{};
      attr.attr = {.max_wr = 16, .max_sge = 2, .srq_limit = 0};
      srq = ibv_create_srq(domain(), &attr);
    }
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.srq = srq;
    attr.cap = {.max_send_wr = shape.max_send,
                .max_recv_wr = 16,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 64};
    attr.qp_type = IBV_QPT_RC;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.pd = domain();
    if (shape.built) {
      attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
    }
    qp = ibv_create_qp_ex(device(), &attr);
    check(cq != nullptr && mr != nullptr && qp != nullptr, "an object cannot be made");
  }

  void bring_up(const ibv_qp* peer) const {
    ibv_qp_attr attr = rdma_core_test::rc_attributes(device(), peer, kRights, 4);
    attr.qp_state = IBV_QPS_INIT;
    modify(attr, rdma_core_test::kToInit);
    attr.qp_state = IBV_QPS_RTR;
    modify(attr, rdma_core_test::kToRtr);
    attr.qp_state = IBV_QPS_RTS;
    modify(attr, rdma_core_test::kToRts);
  }
  void modify(ibv_qp_attr attr, int mask) const {
    check(ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE) == 0, "ibv_modify_qp");
  }

  ibv_sge sge(std::size_t at, std::uint32_t length) const {
    return {
        .addr = reinterpret_cast<std::uint64_t>(memory) + at, .length = length, .lkey = mr->lkey};
  }

  ibv_comp_channel* channel = nullptr;
  ibv_cq_ex* cq_ex = nullptr;
  ibv_cq* cq = nullptr;
  char* memory = nullptr;
  ibv_mr* mr = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
};

struct Pair {
  explicit Pair(const Shape& shape = {}) : a(shape), b(shape) {
    a.bring_up(b.qp);
    b.bring_up(a.qp);
  }
  End a;
  End b;
};

// To be part of whoever calls, so that the place that is reported is the caller's.
#define CARELESS_INLINE [[gnu::always_inline]] inline

CARELESS_INLINE ibv_wc poll(ibv_cq* cq) {
  ibv_wc wc{};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
    check(std::chrono::steady_clock::now() < until, "no completion comes");
  }
  return wc;
}

CARELESS_INLINE int post(const End& from, ibv_wr_opcode opcode, ibv_sge sge, const End& to,
                         unsigned flags = IBV_SEND_SIGNALED, std::size_t remote = 0) {
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = flags;
  const auto address = reinterpret_cast<std::uint64_t>(to.memory) + remote;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = address;
    wr.wr.atomic.rkey = to.mr->rkey;
    wr.wr.atomic.compare_add = 1;
  } else {
    wr.wr.rdma.remote_addr = address;
    wr.wr.rdma.rkey = to.mr->rkey;
  }
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(from.qp, &wr, &bad);
}

CARELESS_INLINE int receive(const End& at, ibv_sge sge) {
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return at.srq != nullptr ? ibv_post_srq_recv(at.srq, &wr, &bad) : ibv_post_recv(at.qp, &wr, &bad);
}

}  // namespace careless
