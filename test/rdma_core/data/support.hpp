// SPDX-License-Identifier: Apache-2.0
// Two ends of a connection, as a program for libibverbs makes them: each with a context, a domain,
// a channel, a completion queue, a registered buffer and a queue pair. Only the C interface is
// used.
#pragma once

#include <doctest/doctest.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../rc_steps.hpp"

namespace data {

using namespace std::chrono_literals;
inline constexpr auto kLimit = 60s;  ///< which only a defect reaches

template <typename T>
T* must(T* made) {
  REQUIRE_MESSAGE(made != nullptr, std::strerror(errno));
  return made;
}

/// A completion says what the peer has done with the request (IWARP_COMPLETIONS).
inline bool is_acknowledged() {
  const char* const value = std::getenv("IWARP_COMPLETIONS");
  return value != nullptr && std::string_view(value) == "acked";
}

inline ibv_context* open_device() {
  ibv_device** list = must(ibv_get_device_list(nullptr));
  ibv_context* out = must(ibv_open_device(list[0]));
  ibv_free_device_list(list);
  return out;
}

inline bool readable(int fd, std::chrono::milliseconds wait = 0ms) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, static_cast<int>(wait.count())) == 1;
}

/// The next completion, by polling.
inline ibv_wc next(ibv_cq* cq) {
  ibv_wc wc{};
  const auto end = std::chrono::steady_clock::now() + kLimit;
  int got = 0;
  while ((got = ibv_poll_cq(cq, 1, &wc)) == 0) REQUIRE(std::chrono::steady_clock::now() < end);
  REQUIRE_EQ(got, 1);
  return wc;
}

inline ibv_wc success(ibv_cq* cq) {
  const ibv_wc wc = next(cq);
  REQUIRE_EQ(std::string(ibv_wc_status_str(wc.status)), ibv_wc_status_str(IBV_WC_SUCCESS));
  return wc;
}

struct Options {
  ibv_qp_cap cap{.max_send_wr = 32,
                 .max_recv_wr = 32,
                 .max_send_sge = 4,
                 .max_recv_sge = 4,
                 .max_inline_data = 128};
  int cqe = 256;
  int signal_all = 1;
  bool shared_receives = false;
  bool extended = false;  ///< made with ibv_create_qp_ex(), for ibv_wr_*()
  bool extended_cq = false;
};

/// How long a peer that does not answer is waited for; 0: without end.
struct Timeouts {
  std::uint8_t timeout = 0;
  std::uint8_t retry_cnt = 0;
};

/// One end. Destroyed in order, each return code is checked.
struct End {
  explicit End(const Options& options = {})
      : context(open_device()),
        pd(must(ibv_alloc_pd(context))),
        channel(must(ibv_create_comp_channel(context))),
        cq(make_cq(options)),
        buffer(1 << 16),
        mr(must(ibv_reg_mr(pd, buffer.data(), buffer.size(), kAllRights))) {
    if (options.shared_receives) {
      ibv_srq_init_attr attr{.srq_context = this, .attr = {.max_wr = 32, .max_sge = 4}};
      srq = must(ibv_create_srq(pd, &attr));
    }
    qp = make_qp(options);
  }
  ~End() {
    CHECK_EQ(qp != nullptr ? ibv_destroy_qp(qp) : 0, 0);
    CHECK_EQ(srq != nullptr ? ibv_destroy_srq(srq) : 0, 0);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(cq != nullptr ? ibv_destroy_cq(cq) : 0, 0);
    CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
    CHECK_EQ(ibv_dealloc_pd(pd), 0);
    CHECK_EQ(ibv_close_device(context), 0);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  ibv_cq* make_cq(const Options& options) {
    if (!options.extended_cq) return must(ibv_create_cq(context, options.cqe, this, channel, 0));
    ibv_cq_init_attr_ex attr{.cqe = static_cast<std::uint32_t>(options.cqe),
                             .cq_context = this,
                             .channel = channel,
                             .wc_flags = IBV_WC_STANDARD_FLAGS};
    cq_ex = must(ibv_create_cq_ex(context, &attr));
    return ibv_cq_ex_to_cq(cq_ex);
  }
  ibv_qp* make_qp(const Options& options) {
    ibv_qp_init_attr_ex attr{};
    attr.qp_context = this;
    attr.send_cq = cq;
    attr.recv_cq = cq;
    attr.srq = srq;
    attr.cap = options.cap;
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = options.signal_all;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.pd = pd;
    if (options.extended) {
      attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
                            IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_IMM |
                            IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                            IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_BIND_MW |
                            IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;
    }
    return must(ibv_create_qp_ex(context, &attr));
  }

  ibv_qp_state state() {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    REQUIRE_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
  }
  int modify(ibv_qp_state to) {
    ibv_qp_attr attr{};
    attr.qp_state = to;
    attr.port_num = 1;
    attr.qp_access_flags = kAllRights;
    const int needed = to == IBV_QPS_INIT ? IBV_QP_PORT | IBV_QP_ACCESS_FLAGS : 0;
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | needed);
  }
  /// RESET to RTS, towards a queue pair of this process.
  void bring_up(const ibv_qp* peer, unsigned rights = kAllRights, std::uint8_t rnr_retry = 0,
                const Timeouts& timeouts = {}) {
    ibv_qp_attr attr = rdma_core_test::rc_attributes(context, peer, rights, 16);
    attr.rnr_retry = rnr_retry;
    attr.timeout = timeouts.timeout;
    attr.retry_cnt = timeouts.retry_cnt;
    attr.qp_state = IBV_QPS_INIT;
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, rdma_core_test::kToInit), 0);
    attr.qp_state = IBV_QPS_RTR;
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, rdma_core_test::kToRtr), 0);
    attr.qp_state = IBV_QPS_RTS;
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, rdma_core_test::kToRts), 0);
  }

  ibv_sge sge(std::size_t at, std::size_t length) const {
    return {.addr = reinterpret_cast<std::uint64_t>(buffer.data()) + at,
            .length = static_cast<std::uint32_t>(length),
            .lkey = mr->lkey};
  }
  std::uint64_t remote(std::size_t at) const {
    return reinterpret_cast<std::uint64_t>(buffer.data()) + at;
  }
  std::string text(std::size_t at, std::size_t length) const {
    return {reinterpret_cast<const char*>(buffer.data()) + at, length};
  }
  void write(std::size_t at, const std::string& what) {
    std::memcpy(buffer.data() + at, what.data(), what.size());
  }
  std::uint64_t& word(std::size_t at) {
    return *reinterpret_cast<std::uint64_t*>(buffer.data() + at);
  }

  /// A receive of `length` octets at `at`; 0 octets: without a buffer.
  int post_recv(std::uint64_t id, std::size_t at = 0, std::size_t length = 0) {
    ibv_sge one = sge(at, length);
    ibv_recv_wr wr{.wr_id = id, .sg_list = &one, .num_sge = length != 0 ? 1 : 0};
    ibv_recv_wr* bad = nullptr;
    const int code =
        srq != nullptr ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
    CHECK_EQ(bad, code != 0 ? &wr : nullptr);
    return code;
  }
  int post(ibv_send_wr wr, std::size_t at = 0, std::size_t length = 0) {
    ibv_sge one = sge(at, length);
    wr.sg_list = &one;
    wr.num_sge = length != 0 ? 1 : 0;
    ibv_send_wr* bad = nullptr;
    const int code = ibv_post_send(qp, &wr, &bad);
    CHECK_EQ(bad, code != 0 ? &wr : nullptr);
    return code;
  }
  /// To or from the peer's buffer.
  int post_rdma(ibv_wr_opcode opcode, const End& peer, std::size_t at, std::size_t length,
                std::size_t remote_at, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_send_wr wr{.wr_id = at, .opcode = opcode, .send_flags = flags};
    wr.wr.rdma = {.remote_addr = peer.remote(remote_at), .rkey = peer.mr->rkey};
    return post(wr, at, length);
  }
  /// Takes an event from the channel and acknowledges it.
  void take_event() {
    ibv_cq* of = nullptr;
    void* its = nullptr;
    REQUIRE(readable(channel->fd, kLimit));
    REQUIRE_EQ(ibv_get_cq_event(channel, &of, &its), 0);
    CHECK_EQ(of, cq);
    CHECK_EQ(its, this);
    ibv_ack_cq_events(of, 1);
  }
  ibv_async_event async_event() {
    ibv_async_event event{};
    REQUIRE(readable(context->async_fd, kLimit));
    REQUIRE_EQ(ibv_get_async_event(context, &event), 0);
    return event;
  }

  static constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                    IBV_ACCESS_MW_BIND;
  ibv_context* context;
  ibv_pd* pd;
  ibv_comp_channel* channel;
  ibv_cq_ex* cq_ex = nullptr;  ///< the same as `cq`, where it was made so
  ibv_cq* cq;
  std::vector<std::byte> buffer;
  ibv_mr* mr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
};

inline constexpr std::uint8_t kForEver = 7;  ///< rnr_retry

/// Two connected ends.
struct Pair {
  explicit Pair(const Options& options = {}) : Pair(options, options) {}
  Pair(const Options& of_a, const Options& of_b, std::uint8_t rnr_retry = 0) : a(of_a), b(of_b) {
    a.bring_up(b.qp, End::kAllRights, rnr_retry);
    b.bring_up(a.qp, End::kAllRights, rnr_retry);
  }
  /// Returns when octets have gone both ways.
  void settle() {
    REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, b, 0, 8, 0), 0);
    success(a.cq);
    REQUIRE_EQ(b.post_rdma(IBV_WR_RDMA_READ, a, 0, 8, 0), 0);
    success(b.cq);
  }
  End a;
  End b;
};

}  // namespace data
