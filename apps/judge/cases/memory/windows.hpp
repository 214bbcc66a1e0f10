// SPDX-License-Identifier: Apache-2.0
// What the cases about windows of both types share: a window with its region, and the cases that
// differ only in the type, with their rows.
#pragma once

#include <initializer_list>
#include <string>

#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"

namespace iwarp::judge::windows {

inline constexpr std::uint32_t kWord = 8;
inline constexpr std::uint32_t kMiddle =
    1024;  // the windows of most cases cover [kMiddle, 2 * kMiddle)
inline constexpr int kRead = IBV_ACCESS_REMOTE_READ;
inline constexpr int kWrite = IBV_ACCESS_REMOTE_WRITE;
inline constexpr int kAtomic = IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr int kBindable = kAllRights | IBV_ACCESS_MW_BIND;

inline ibv_send_wr invalidation(std::uint32_t key) {
  ibv_send_wr wr{.wr_id = 6, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED};
  wr.invalidate_rkey = key;
  return wr;
}

/// A pair whose end b has a window, and a region to which the window can be bound.
struct Bound {
  explicit Bound(Judge& of, ibv_mw_type type, int region = kBindable)
      : j(of), pair(j), mr(ibv_reg_mr(pair.b.pd.get(), memory.get(), kPage, region)) {
    j.require("ibv_reg_mr", errno_of(mr.get()));
    mw = Mw(ibv_alloc_mw(pair.b.pd.get(), type));
    j.require("ibv_alloc_mw", errno_of(mw.get()));
    std::strcpy(memory.get() + kMiddle, "window");
  }

  ibv_mw_bind_info info(int rights, std::uint64_t from = kMiddle, std::uint64_t length = kMiddle) {
    return {.mr = mr.get(),
            .addr = reinterpret_cast<std::uintptr_t>(memory.get()) + from,
            .length = length,
            .mw_access_flags = static_cast<unsigned>(rights)};
  }

  /// Posts the bind, and returns an errno value. ibv_bind_mw() binds a window of type 1, and
  /// ibv_post_send() one of type 2.
  int post(End& end, const ibv_mw_bind_info& to) {
    if (mw->type == IBV_MW_TYPE_1) {
      ibv_mw_bind bind{.wr_id = 5, .send_flags = IBV_SEND_SIGNALED, .bind_info = to};
      return errno_of(ibv_bind_mw(end.qp.get(), mw.get(), &bind));
    }
    key = ibv_inc_rkey(mw->rkey);
    ibv_send_wr wr{.wr_id = 5, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
    wr.bind_mw = {.mw = mw.get(), .rkey = key, .bind_info = to};
    return end.post_send(wr);
  }

  void bind(const ibv_mw_bind_info& to, const std::string& step = "bind") {
    j.require(step + ": post", post(pair.b, to));
    const ibv_wc wc = expect_completion(j, step, pair.b.send_cq);
    j.expect_equal(step + ": wr_id", wc.wr_id, 5);
    j.expect_true(step + ": opcode", wc.opcode == IBV_WC_BIND_MW, "IBV_WC_BIND_MW");
    // ibv_post_send() does not change ibv_mw.rkey.
    if (mw->type == IBV_MW_TYPE_2) mw->rkey = key;
  }

  /// Compares that the bind fails: when it is posted, or by its completion.
  void expect_failure(const ibv_mw_bind_info& to, std::initializer_list<int> at_post) {
    const int code = post(pair.b, to);
    if (code != 0) {
      j.expect("post of the bind", code, at_post);
      return;
    }
    expect_completion(j, "bind", pair.b.send_cq, {IBV_WC_MW_BIND_ERR});
    expect_state(j, "state after the bind", pair.b, IBV_QPS_ERR);
  }

  void invalidate() { expect_local(j, "local invalidate", pair.b, invalidation(mw->rkey), 0); }

  ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t from = kMiddle) const {
    return remote(opcode, memory.get() + from, mw->rkey);
  }

  Judge& j;
  Pages memory = pages();
  Pair pair;
  Mr mr;
  Mw mw;
  std::uint32_t key = 0;
};

// Both types ------------------------------------------------------------------------------------

template <ibv_mw_type type>
void alloc_fields(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  Mw mw(ibv_alloc_mw(pd.get(), type));
  j.require("ibv_alloc_mw", errno_of(mw.get()));
  j.expect_true("pd", mw->pd == pd.get(), "that of the call");
  j.expect_true("context", mw->context == j.context(), "that of the domain");
  j.expect_true("type", mw->type == type, "that of the call");
  j.expect("ibv_dealloc_mw", mw.destroy());
}

template <ibv_mw_type type>
void unbound(Judge& j) {
  Bound w(j, type);
  expect_denied(j, "Read by the key of a window that is not bound", w.pair,
                w.request(IBV_WR_RDMA_READ), kWord);
}

template <ibv_mw_type type, int rights, ibv_wr_opcode opcode>
void permits(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(rights));
  std::memset(w.pair.a.memory(0), 'x', kWord);
  expect_done(j, "the request", w.pair, w.request(opcode), kWord);
  if (opcode == IBV_WR_RDMA_READ) j.expect_text("payload", w.pair.a.memory(0), {"window"});
  if (opcode == IBV_WR_RDMA_WRITE) {
    j.expect_true("memory of the window", w.memory.get()[kMiddle] == 'x', "written");
  }
}

template <ibv_mw_type type, int rights, ibv_wr_opcode opcode>
void denies(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(rights));
  std::memset(w.pair.a.memory(0), 'x', kWord);
  expect_denied(j, "the request", w.pair, w.request(opcode), kWord);
  j.expect_text("memory of the window", w.memory.get() + kMiddle, {"window"});
}

template <ibv_mw_type type, std::uint32_t from, std::uint32_t length>
void outside(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(kRead | kWrite));
  expect_denied(j, "Read outside of the window", w.pair, w.request(IBV_WR_RDMA_READ, from), length);
}

template <ibv_mw_type type>
void whole_region(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(kRead, 0, kPage));
  expect_done(j, "Read of the whole region", w.pair, w.request(IBV_WR_RDMA_READ, 0), kPage);
}

/// A bind that a correct device refuses.
template <ibv_mw_type type, int region, int rights, std::uint64_t from, std::uint64_t length>
void bind_fails(Judge& j) {
  Bound w(j, type, region);
  w.expect_failure(w.info(rights, from, length), {EINVAL, EPERM});
}

template <ibv_mw_type type>
void old_key(Judge& j) {
  Bound w(j, type);
  const std::uint32_t old = w.mw->rkey;
  w.bind(w.info(kRead));
  j.expect_true("rkey after the bind", w.mw->rkey != old, "another key");
  expect_denied(j, "Read by the key before the bind", w.pair,
                remote(IBV_WR_RDMA_READ, w.memory.get() + kMiddle, old), kWord);
}

template <ibv_mw_type type>
void region_remains(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(kRead));
  expect_done(j, "Read by the key of the region", w.pair,
              remote(IBV_WR_RDMA_READ, w.memory.get(), w.mr->rkey), kWord);
}

template <ibv_mw_type type>
void dereg_bound(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(kRead));
  j.expect("ibv_dereg_mr while a window is bound", w.mr.destroy(), {EBUSY, EINVAL});
  expect_done(j, "Read by the key of the window", w.pair, w.request(IBV_WR_RDMA_READ), kWord);
  j.expect("ibv_dealloc_mw of the bound window", w.mw.destroy());
  j.expect("ibv_dereg_mr without a window", w.mr.destroy());
}

template <ibv_mw_type type>
void dealloc_bound(Judge& j) {
  Bound w(j, type);
  w.bind(w.info(kRead));
  const ibv_send_wr wr = w.request(IBV_WR_RDMA_READ);
  j.expect("ibv_dealloc_mw of the bound window", w.mw.destroy());
  expect_denied(j, "Read by the key of the window that is gone", w.pair, wr, kWord);
}

template <ibv_mw_type type>
void send_follows(Judge& j) {
  Bound w(j, type);
  j.require("ibv_post_recv", w.pair.a.post_recv(1));
  j.require("post of the bind", w.post(w.pair.b, w.info(kRead)));
  j.require("ibv_post_send after the bind",
            w.pair.b.post_send(w.pair.b.request(2, IBV_WR_SEND, w.pair.a)));
  expect_completion(j, "completion of the receive", w.pair.a.recv_cq);
  if (type == IBV_MW_TYPE_2) w.mw->rkey = w.key;
  expect_done(j, "Read after the Send that followed the bind", w.pair, w.request(IBV_WR_RDMA_READ),
              kWord);
}

template <ibv_mw_type type>
void foreign_region(Judge& j) {
  Bound w(j, type);
  ibv_mw_bind_info to = w.info(kRead);
  to.mr = w.pair.a.mr.get();
  to.addr = w.pair.a.address();
  to.length = kWord;
  if (type == IBV_MW_TYPE_1) {
    j.expect("ibv_bind_mw to a region of another domain", w.post(w.pair.b, to), {EPERM});
  } else {
    w.expect_failure(to, {EPERM, EINVAL});
  }
}

inline constexpr ibv_mw_type kType1 = IBV_MW_TYPE_1;
inline constexpr ibv_mw_type kType2 = IBV_MW_TYPE_2;
inline constexpr ibv_wr_opcode kReadIt = IBV_WR_RDMA_READ;
inline constexpr ibv_wr_opcode kWriteIt = IBV_WR_RDMA_WRITE;
inline constexpr ibv_wr_opcode kAddToIt = IBV_WR_ATOMIC_FETCH_AND_ADD;
inline constexpr int kUnbindable = kAllRights;
inline constexpr int kNoLocalWrite = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;

// The rows that both types have: those about access through a window and about binding, and those
// about the region and the end of a window.
// clang-format off
#define JUDGE_WINDOW_ACCESS(n) \
  Case{"mw/" #n "/unbound", "IBV-182", "refuses a Read with the rkey of an unbound window", unbound<kType##n>, kWindow##n}, \
  Case{"mw/" #n "/read", "IBV-51 IBV-183 IBV-194", "permits a Read through a window that was bound for Reads", permits<kType##n, kRead, kReadIt>, kWindow##n}, \
  Case{"mw/" #n "/write", "IBV-183 IBV-194", "permits a Write through a window that was bound for Writes", permits<kType##n, kWrite, kWriteIt>, kWindow##n}, \
  Case{"mw/" #n "/atomic", "IBV-183", "permits an atomic through a window that was bound for atomics", permits<kType##n, kAtomic, kAddToIt>, kWindow##n | kAtomics}, \
  Case{"mw/" #n "/read-denied", "IBV-194", "refuses a Read through a window that was bound for Writes only", denies<kType##n, kWrite, kReadIt>, kWindow##n}, \
  Case{"mw/" #n "/write-denied", "IBV-194", "refuses a Write through a window that was bound for Reads only", denies<kType##n, kRead, kWriteIt>, kWindow##n}, \
  Case{"mw/" #n "/before", "IBV-183", "refuses a Read that starts before a window", outside<kType##n, kMiddle - 1, 2>, kWindow##n}, \
  Case{"mw/" #n "/after", "IBV-183", "refuses a Read that ends past a window", outside<kType##n, 2 * kMiddle - 1, 2>, kWindow##n}, \
  Case{"mw/" #n "/whole-region", "IBV-203", "binds a window to a whole region", whole_region<kType##n>, kWindow##n}, \
  Case{"mw/" #n "/bind-without-right", "IBV-136 IBV-197 IBV-318", "does not bind a window to a region without IBV_ACCESS_MW_BIND", bind_fails<kType##n, kUnbindable, kRead, kMiddle, kMiddle>, kWindow##n}, \
  Case{"mw/" #n "/bind-write-without-local", "IBV-193 IBV-318", "does not bind a window for Writes to a region without local write", bind_fails<kType##n, kNoLocalWrite, kWrite, kMiddle, kMiddle>, kWindow##n}, \
  Case{"mw/" #n "/bind-after", "IBV-197 IBV-203 IBV-318", "does not bind a window that exceeds its region", bind_fails<kType##n, kBindable, kRead, kMiddle, kPage>, kWindow##n}
#define JUDGE_WINDOW_LIFE(n) \
  Case{"mw/" #n "/region", "IBV-183", "keeps the region's own rkey valid while a window is bound to it", region_remains<kType##n>, kWindow##n}, \
  Case{"mw/" #n "/dereg-bound", "IBV-148", "refuses to deregister a region while a window is bound to it", dereg_bound<kType##n>, kWindow##n}, \
  Case{"mw/" #n "/dealloc-bound", "IBV-187", "unbinds a window when it is deallocated", dealloc_bound<kType##n>, kWindow##n}, \
  Case{"mw/" #n "/send-after-bind", "IBV-189 IBV-196", "binds a window before it executes the next Send", send_follows<kType##n>, kWindow##n}, \
  Case{"mw/" #n "/foreign-region", "IBV-199", "refuses to bind a window to a region of another protection domain", foreign_region<kType##n>, kWindow##n}
// clang-format on

}  // namespace iwarp::judge::windows
