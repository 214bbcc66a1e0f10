// SPDX-License-Identifier: Apache-2.0
// Two ends of a connection, as a program for libibverbs creates them. Each has a context, a
// protection domain, a channel, a completion queue, a registered buffer and a queue pair. Uses only
// the C interface.
#pragma once

#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "../support/verbs_end.hpp"

namespace data {

using namespace std::chrono_literals;
using namespace rdma_core_test;
using Options = EndOptions;

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline ibv_context* open_device() { return rdma_core_test::first_device(); }

inline ibv_wc success(ibv_cq* cq) {
  const ibv_wc wc = next(cq);
  REQUIRE_EQ(std::string(ibv_wc_status_str(wc.status)), ibv_wc_status_str(IBV_WC_SUCCESS));
  return wc;
}

/// How long a queue pair waits for a peer that does not answer, encoded as in ibv_qp_attr. 0 means
/// no timeout.
struct Timeouts {
  std::uint8_t timeout = 0;
  std::uint8_t retry_cnt = 0;
};
inline constexpr Timeouts kShort{.timeout = 10, .retry_cnt = 1};

/// An end that destroys its objects in order and checks the result of each call.
struct End : VerbsEnd {
  explicit End(const Options& options = {}) : VerbsEnd(options) {}
  ~End() { CHECK(destroy()); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  int modify(ibv_qp_state to) {
    ibv_qp_attr attr{.qp_state = to, .qp_access_flags = kAllRights, .port_num = 1};
    const int needed = to == IBV_QPS_INIT ? IBV_QP_PORT | IBV_QP_ACCESS_FLAGS : 0;
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | needed);
  }
  /// Takes the queue pair from RESET to RTS and connects it to a queue pair of this process.
  void bring_up(const ibv_qp* peer, unsigned rights = kAllRights, std::uint8_t rnr_retry = 0,
                const Timeouts& timeouts = {}) {
    ibv_qp_attr attr = rc_attributes(context, peer, rights, 16);
    attr.rnr_retry = rnr_retry;
    attr.timeout = timeouts.timeout;
    attr.retry_cnt = timeouts.retry_cnt;
    VerbsEnd::bring_up(attr);
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

  /// Posts a receive of `length` bytes at offset `at`, or a receive without a buffer if `length` is
  /// 0.
  int post_recv(std::uint64_t id, std::size_t at = 0, std::size_t length = 0) {
    ibv_sge one = sge(at, length);
    ibv_recv_wr wr{.wr_id = id, .sg_list = &one, .num_sge = length != 0 ? 1 : 0};
    if (srq == nullptr) return rdma_core_test::post_recv(qp, wr);
    ibv_recv_wr* bad = nullptr;
    const int code = ibv_post_srq_recv(srq, &wr, &bad);
    CHECK_EQ(bad, code != 0 ? &wr : nullptr);
    return code;
  }
  int post(ibv_send_wr wr, std::size_t at = 0, std::size_t length = 0) {
    ibv_sge one = sge(at, length);
    wr.sg_list = &one;
    wr.num_sge = length != 0 ? 1 : 0;
    return post_send(qp, wr);
  }
  /// Posts a request that accesses `length` bytes of the peer's memory at address `to`.
  int post_to(ibv_wr_opcode opcode, std::uint64_t to, std::uint32_t rkey, std::size_t at,
              std::size_t length, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_send_wr wr{.wr_id = at, .opcode = opcode, .send_flags = flags};
    wr.wr.rdma = {.remote_addr = to, .rkey = rkey};
    return post(wr, at, length);
  }
  /// Posts a request that transfers data to the peer's buffer or from it.
  int post_rdma(ibv_wr_opcode opcode, const End& peer, std::size_t at, std::size_t length,
                std::size_t remote_at, unsigned flags = IBV_SEND_SIGNALED) {
    return post_to(opcode, peer.remote(remote_at), peer.mr->rkey, at, length, flags);
  }
  /// Adds `value` to a 64-bit word at the peer, and stores the old value at `at`.
  int post_add(const End& peer, std::size_t remote_at, std::uint64_t value, std::size_t at) {
    ibv_send_wr wr{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED};
    wr.wr.atomic = {
        .remote_addr = peer.remote(remote_at), .compare_add = value, .rkey = peer.mr->rkey};
    return post(wr, at, 8);
  }
  /// Binds a window of type 2 to `where`, under the key that follows its current one. Returns that
  /// key when the bind is complete.
  std::uint32_t bind(ibv_mw* mw, const ibv_mw_bind_info& where) {
    const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
    ibv_send_wr wr{.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
    wr.bind_mw = {.mw = mw, .rkey = rkey, .bind_info = where};
    REQUIRE_EQ(post(wr), 0);
    CHECK_EQ(mw->rkey, rkey);
    CHECK_EQ(success(cq).opcode, IBV_WC_BIND_MW);
    return rkey;
  }
  /// Returns the attributes that bind a window to the first `length` bytes of the buffer.
  ibv_mw_bind_info first(std::size_t length, unsigned rights) const {
    return {.mr = mr, .addr = remote(0), .length = length, .mw_access_flags = rights};
  }
  /// Gets an event from the channel and acknowledges it.
  void take_event() {
    ibv_cq* of = nullptr;
    void* its = nullptr;
    REQUIRE(is_readable(channel->fd, kTimeoutMs));
    REQUIRE_EQ(ibv_get_cq_event(channel, &of, &its), 0);
    CHECK_EQ(of, cq);
    CHECK_EQ(its, this);
    ibv_ack_cq_events(of, 1);
  }

  static constexpr int kAllRights = rdma_core_test::kAllRights;
  std::span<std::byte> buffer{reinterpret_cast<std::byte*>(memory), memory_size};
};

inline constexpr std::uint8_t kForEver = 7;  ///< value of rnr_retry that means no limit

/// Two connected ends.
struct Pair {
  explicit Pair(const Options& options = {}) : Pair(options, options) {}
  Pair(const Options& of_a, const Options& of_b, std::uint8_t rnr_retry = 0,
       const Timeouts& timeouts = {})
      : a(of_a), b(of_b) {
    a.bring_up(b.qp, End::kAllRights, rnr_retry, timeouts);
    b.bring_up(a.qp, End::kAllRights, rnr_retry, timeouts);
  }
  /// Performs a Read in each direction. Both ends are connected when this returns.
  void settle() {
    REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, b, 0, 8, 0), 0);
    success(a.cq);
    REQUIRE_EQ(b.post_rdma(IBV_WR_RDMA_READ, a, 0, 8, 0), 0);
    success(b.cq);
  }
  End a;
  End b;
};

struct SettledPair : Pair {
  explicit SettledPair(const Options& options = {}) : SettledPair(options, options) {}
  SettledPair(const Options& of_a, const Options& of_b, const Timeouts& timeouts = {})
      : Pair(of_a, of_b, 0, timeouts) {
    settle();
  }
};

}  // namespace data
