// SPDX-License-Identifier: Apache-2.0
// One end of a connection without rdma_cm: a queue pair of type RC, UC or UD and the objects that
// it needs, created only with the C interface. Both tests and programs use it, so it does not use
// doctest: a call that fails throws. VerbsEnd does not post send requests, because each user checks
// different properties of them.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "error_of.hpp"
#include "rc_steps.hpp"

namespace rdma_core_test {

/// A timeout that expires only if the tested code is broken.
inline constexpr std::chrono::seconds kLimit{60};
inline constexpr int kTimeoutMs = 60'000;        ///< the same for poll(2)
inline constexpr std::uint32_t kKey = 0x1A2B3C;  ///< Q_Key of each UD queue pair
inline constexpr std::size_t kGrh = 40;          ///< size of the GRH in front of each datagram
inline constexpr int kUdToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
inline constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND;

inline void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

template <typename T>
T* must(T* made, const char* what = "an object cannot be made") {
  if (made == nullptr) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
  return made;
}

inline ibv_context* first_device() {
  ibv_device** list = must(ibv_get_device_list(nullptr), "ibv_get_device_list");
  ibv_context* const out = list[0] != nullptr ? ibv_open_device(list[0]) : nullptr;
  ibv_free_device_list(list);
  return must(out, "no device");
}

/// Calls `holds` until it returns true.
template <typename Holds>
void wait_until(Holds holds, const char* otherwise) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!holds()) check(std::chrono::steady_clock::now() < end, otherwise);
}

/// Returns whether `fd` is readable or becomes readable within the timeout.
inline bool is_readable(int fd, int timeout_ms = 0) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, timeout_ms) == 1;
}

/// Waits for the next completion. It may have any status.
inline ibv_wc next(ibv_cq* cq) {
  ibv_wc wc{};
  int got = 0;
  wait_until([&] { return (got = ibv_poll_cq(cq, 1, &wc)) != 0; }, "no completion comes");
  check(got == 1, "ibv_poll_cq");
  return wc;
}

/// Returns whether a poll finds no completion.
inline bool is_empty(ibv_cq* cq) {
  ibv_wc wc{};
  return ibv_poll_cq(cq, 1, &wc) == 0;
}

/// Waits with ibv_start_poll() until there is a completion.
inline void start_poll(ibv_cq_ex* cq) {
  ibv_poll_cq_attr attr{};
  wait_until([&] { return ibv_start_poll(cq, &attr) == 0; }, "no completion comes");
}

/// Waits with ibv_next_poll() until there is another completion.
inline void next_poll(ibv_cq_ex* cq) {
  int code = 0;
  wait_until([&] { return (code = ibv_next_poll(cq)) != ENOENT; }, "no completion comes");
  check(code == 0, "ibv_next_poll");
}

/// Posts one request. Returns the result of ibv_post_send(), which sets bad_wr only if it fails.
inline int post_send(ibv_qp* qp, ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  const int code = ibv_post_send(qp, &wr, &bad);
  check(bad == (code != 0 ? &wr : nullptr), "bad_wr of ibv_post_send");
  return code;
}

/// Posts one receive, as post_send() posts a request.
inline int post_recv(ibv_qp* qp, ibv_recv_wr wr) {
  ibv_recv_wr* bad = nullptr;
  const int code = ibv_post_recv(qp, &wr, &bad);
  check(bad == (code != 0 ? &wr : nullptr), "bad_wr of ibv_post_recv");
  return code;
}

/// Returns all attributes of a queue pair.
inline ibv_qp_attr query(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  check(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0, "ibv_query_qp");
  return attr;
}

/// Moves a queue pair to a state that requires no other attribute.
inline int move_to(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{.qp_state = state};
  return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

/// Returns a signaled Send of one datagram.
inline ibv_send_wr datagram(ibv_sge& sge, ibv_ah* to, std::uint32_t qpn, std::uint64_t wr_id = 0) {
  ibv_send_wr wr{.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {.ah = to, .remote_qpn = qpn, .remote_qkey = kKey};
  return wr;
}

/// Returns the GID of an IPv4 or IPv6 address.
inline ibv_gid gid_of(const char* address) {
  ibv_gid out{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}};
  if (inet_pton(AF_INET, address, out.raw + 12) == 1) return out;
  check(inet_pton(AF_INET6, address, out.raw) == 1, "an address");
  return out;
}

struct EndOptions {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_cap cap{.max_send_wr = 32,
                 .max_recv_wr = 32,
                 .max_send_sge = 4,
                 .max_recv_sge = 4,
                 .max_inline_data = 128};
  int cqe = 256;
  int signal_all = 1;
  bool shared_receives = false;
  bool own_receive_cq = false;
  bool extended = false;  ///< set if requests can be built with ibv_wr_*()
  bool extended_cq = false;
  std::size_t memory = 1 << 16;
  /// Context that belongs to `pd`. If null, the end opens its own context.
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
};

/// The destructor destroys nothing, so that a program may leave its objects alive. A derived class
/// may call destroy() in its destructor.
struct VerbsEnd {
  explicit VerbsEnd(const EndOptions& options = {})
      : owns_device(options.context == nullptr),
        memory_size(options.memory),
        context(owns_device ? first_device() : options.context),
        pd(owns_device ? must(ibv_alloc_pd(context)) : options.pd),
        channel(must(ibv_create_comp_channel(context))),
        cq(make_cq(options)) {
    if (options.own_receive_cq) {
      receive_cq = must(ibv_create_cq(context, options.cqe, this, channel, 0));
    }
    void* const mapped =
        mmap(nullptr, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(mapped != MAP_FAILED, "mmap");
    memory = static_cast<char*>(mapped);
    mr = must(ibv_reg_mr(pd, memory, memory_size,
                         options.type == IBV_QPT_UD ? IBV_ACCESS_LOCAL_WRITE : kAllRights));
    if (options.shared_receives) {
      ibv_srq_init_attr attr{.srq_context = this, .attr = {.max_wr = 32, .max_sge = 4}};
      srq = must(ibv_create_srq(pd, &attr));
    }
    qp = make_qp(options);
  }
  VerbsEnd(const VerbsEnd&) = delete;
  VerbsEnd& operator=(const VerbsEnd&) = delete;

  ibv_cq* make_cq(const EndOptions& options) {
    if (!options.extended_cq) return must(ibv_create_cq(context, options.cqe, this, channel, 0));
    ibv_cq_init_attr_ex attr{.cqe = static_cast<std::uint32_t>(options.cqe),
                             .cq_context = this,
                             .channel = channel,
                             .wc_flags = IBV_WC_STANDARD_FLAGS};
    cq_ex = must(ibv_create_cq_ex(context, &attr));
    return ibv_cq_ex_to_cq(cq_ex);
  }
  ibv_qp* make_qp(const EndOptions& options) {
    ibv_qp_init_attr_ex attr{};
    attr.qp_context = this;
    attr.send_cq = cq;
    attr.recv_cq = receive_cq != nullptr ? receive_cq : cq;
    attr.srq = srq;
    attr.cap = options.cap;
    attr.qp_type = options.type;
    attr.sq_sig_all = options.signal_all;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.pd = pd;
    if (options.extended) {
      attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    }
    if (options.extended && options.type == IBV_QPT_RC) {
      attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                             IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                             IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_BIND_MW |
                             IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;
    }
    return must(ibv_create_qp_ex(context, &attr));
  }
  /// Destroys all objects that exist, each before the objects that it uses. Returns whether every
  /// call succeeded.
  bool destroy() {
    bool ok = true;
    const auto end = [&](auto*& object, auto* function) {
      if (auto* const ending = std::exchange(object, nullptr)) ok = function(ending) == 0 && ok;
    };
    end(qp, ibv_destroy_qp);
    end(srq, ibv_destroy_srq);
    end(mr, ibv_dereg_mr);
    end(cq, ibv_destroy_cq);
    end(receive_cq, ibv_destroy_cq);
    end(channel, ibv_destroy_comp_channel);
    if (owns_device) {
      end(pd, ibv_dealloc_pd);
      end(context, ibv_close_device);
    }
    if (memory != nullptr) munmap(std::exchange(memory, nullptr), memory_size);
    return ok;
  }

  /// Takes the queue pair from RESET to RTS with the attributes in `attr`.
  void bring_up(ibv_qp_attr attr) const {
    for (const auto& [state, mask] :
         {std::pair{IBV_QPS_INIT, kToInit}, {IBV_QPS_RTR, kToRtr}, {IBV_QPS_RTS, kToRts}}) {
      attr.qp_state = state;
      check(ibv_modify_qp(qp, &attr, mask) == 0, "ibv_modify_qp");
    }
  }
  /// Takes a UD queue pair from RESET to RTS.
  void bring_up() const {
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
    check(ibv_modify_qp(qp, &attr, kUdToInit) == 0, "INIT");
    check(move_to(qp, IBV_QPS_RTR) == 0, "RTR");
    to_rts();
  }
  /// Takes a UD queue pair from RTR or SQE to RTS.
  void to_rts() const {
    ibv_qp_attr attr{.qp_state = IBV_QPS_RTS};
    const int psn = state() == IBV_QPS_SQE ? 0 : IBV_QP_SQ_PSN;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | psn) == 0, "RTS");
  }
  ibv_qp_state state() const { return query(qp).qp_state; }
  /// Returns the index of `own`, a GID of this host.
  int index_of(const ibv_gid& own) const {
    ibv_gid gid{};
    for (int index = 0;; ++index) {
      check(ibv_query_gid(context, 1, index, &gid) == 0, "no GID of that address");
      if (std::memcmp(gid.raw, own.raw, sizeof gid.raw) == 0) return index;
    }
  }
  /// Creates an address handle with destination `gid`. Its source is the GID at `index`.
  ibv_ah* way_to(const ibv_gid& gid, int index = 0) const {
    ibv_ah_attr attr{.is_global = 1, .port_num = 1};
    attr.grh.dgid = gid;
    attr.grh.sgid_index = static_cast<std::uint8_t>(index);
    return must(ibv_create_ah(pd, &attr), "ibv_create_ah");
  }
  ibv_ah* way_home() const {
    ibv_gid own{};
    check(ibv_query_gid(context, 1, 0, &own) == 0, "ibv_query_gid");
    return way_to(own);
  }

  ibv_sge sge(std::size_t at, std::size_t length) const {
    return {.addr = remote(at), .length = static_cast<std::uint32_t>(length), .lkey = mr->lkey};
  }
  std::uint64_t remote(std::size_t at) const {
    return reinterpret_cast<std::uint64_t>(memory) + at;
  }
  /// Posts a receive to the queue pair's receive queue, or to the shared receive queue if the queue
  /// pair uses one.
  int receive(ibv_sge sge, std::uint64_t wr_id = 0) const {
    ibv_recv_wr wr{.wr_id = wr_id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    return srq != nullptr ? ibv_post_srq_recv(srq, &wr, &bad) : post_recv(qp, wr);
  }
  /// Waits for the next asynchronous event. The caller acknowledges it.
  ibv_async_event async_event() const {
    ibv_async_event event{};
    check(is_readable(context->async_fd, kTimeoutMs), "no event comes");
    check(ibv_get_async_event(context, &event) == 0, "ibv_get_async_event");
    return event;
  }
  /// Waits for the next asynchronous event, and acknowledges it.
  ibv_async_event take_async_event() const {
    ibv_async_event event = async_event();
    ibv_ack_async_event(&event);
    return event;
  }

  bool owns_device;
  std::size_t memory_size;
  ibv_context* context;
  ibv_pd* pd;
  ibv_comp_channel* channel;
  /// `cq` as an extended completion queue, or null if it was not created as one.
  ibv_cq_ex* cq_ex = nullptr;
  ibv_cq* cq;
  /// Completion queue of receives. If null, receives complete to `cq`.
  ibv_cq* receive_cq = nullptr;
  char* memory = nullptr;
  ibv_mr* mr = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
};

}  // namespace rdma_core_test
