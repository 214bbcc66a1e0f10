// SPDX-License-Identifier: Apache-2.0
// Cases about memory windows: binding, what a bound window permits, and invalidating.
#include "judge/cases/access.hpp"
#include "judge/cases/cases.hpp"

namespace iwarp::judge {
namespace {

constexpr std::uint32_t kWord = 8;
constexpr std::uint32_t kMiddle = 1024;  // the windows of most cases cover [kMiddle, 2 * kMiddle)
constexpr int kRead = IBV_ACCESS_REMOTE_READ;
constexpr int kWrite = IBV_ACCESS_REMOTE_WRITE;
constexpr int kAtomic = IBV_ACCESS_REMOTE_ATOMIC;
constexpr int kBindable = kAllRights | IBV_ACCESS_MW_BIND;

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
    ibv_send_wr wr{};
    wr.wr_id = 5;
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
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

  void invalidate() {
    ibv_send_wr wr{};
    wr.wr_id = 6;
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.invalidate_rkey = mw->rkey;
    expect_local(j, "local invalidate", pair.b, wr, 0);
  }

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

void alloc_unknown(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  Mw mw(ibv_alloc_mw(pd.get(), static_cast<ibv_mw_type>(3)));
  j.expect("ibv_alloc_mw of type 3", errno_of(mw.get()), {EINVAL});
}

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

// Type 1 ----------------------------------------------------------------------------------------

void bind_call_of_type_2(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  ibv_mw_bind bind{.wr_id = 5, .send_flags = 0, .bind_info = w.info(kRead)};
  j.expect("ibv_bind_mw of a window of type 2",
           errno_of(ibv_bind_mw(w.pair.b.qp.get(), w.mw.get(), &bind)), {EINVAL});
}

void bind_null_with_length(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  ibv_mw_bind_info to = w.info(kRead);
  to.mr = nullptr;
  j.expect("ibv_bind_mw without a region, but with a length", w.post(w.pair.b, to), {EINVAL});
}

void unbind(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  w.bind(w.info(kRead));
  const ibv_send_wr wr = w.request(IBV_WR_RDMA_READ);
  expect_done(j, "Read while the window is bound", w.pair, wr, kWord);
  w.bind(w.info(kRead, kMiddle, 0), "bind to 0 bytes");
  j.expect("ibv_dereg_mr after it", w.mr.destroy());
  expect_denied(j, "Read after it", w.pair, wr, kWord);
}

void rebind(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  w.bind(w.info(kRead));
  const ibv_send_wr wr = w.request(IBV_WR_RDMA_READ);
  w.bind(w.info(kRead, 0, kMiddle), "second bind");
  expect_done(j, "Read by the new key", w.pair, w.request(IBV_WR_RDMA_READ, 0), kWord);
  expect_denied(j, "Read by the key of the first bind", w.pair, wr, kWord);
}

void unsignaled(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  ibv_mw_bind bind{.wr_id = 5, .send_flags = 0, .bind_info = w.info(kRead)};
  j.require("ibv_bind_mw without IBV_SEND_SIGNALED",
            errno_of(ibv_bind_mw(w.pair.b.qp.get(), w.mw.get(), &bind)));
  j.require("ibv_post_recv", w.pair.a.post_recv(1));
  const ibv_wc wc = [&] {
    j.require("ibv_post_send", w.pair.b.post_send(w.pair.b.request(6, IBV_WR_SEND, w.pair.a)));
    return expect_completion(j, "first completion", w.pair.b.send_cq);
  }();
  j.expect_equal("wr_id of the first completion", wc.wr_id, 6);
  expect_done(j, "Read by the window", w.pair, w.request(IBV_WR_RDMA_READ), kWord);
}

// At the call, or by a failed bind.
void zero_based_type_1(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  w.expect_failure(w.info(kRead | IBV_ACCESS_ZERO_BASED), {EINVAL, EOPNOTSUPP});
}

void on_datagrams(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  End end(j, {.type = IBV_QPT_UD, .pd = w.pair.b.pd.get()});
  j.expect("ibv_bind_mw on a queue pair of type UD", w.post(end, w.info(kRead)),
           {EINVAL, EOPNOTSUPP});
}

// Type 2 ----------------------------------------------------------------------------------------

void local_invalidate(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  w.bind(w.info(kRead));
  const ibv_send_wr wr = w.request(IBV_WR_RDMA_READ);
  expect_done(j, "Read while the window is bound", w.pair, wr, kWord);
  w.invalidate();
  j.expect("ibv_dereg_mr after it", w.mr.destroy());
  expect_denied(j, "Read after it", w.pair, wr, kWord);
}

void bind_after_invalidate(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  w.bind(w.info(kRead));
  w.invalidate();
  w.bind(w.info(kRead), "second bind");
  expect_done(j, "Read by the new key", w.pair, w.request(IBV_WR_RDMA_READ), kWord);
}

void bind_bound(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  w.bind(w.info(kRead));
  w.expect_failure(w.info(kRead, 0), {EINVAL, EPERM});
}

// The sources do not say whether a key that is invalid already is an error.
void invalidate_unbound(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.invalidate_rkey = w.mw->rkey;
  expect_local(j, "local invalidate of a window that is not bound", w.pair.b, wr, 0,
               {IBV_WC_SUCCESS, IBV_WC_MW_BIND_ERR});
}

void invalidate_unknown(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.invalidate_rkey = w.mw->rkey ^ 1U << 30;
  expect_local(j, "local invalidate", w.pair.b, wr, 0, {IBV_WC_MW_BIND_ERR});
}

// The verbs of iWARP permit to invalidate a region that is not shared, and the kernel's rxe permits
// it only for regions of the kernel.
void invalidate_region(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  ibv_send_wr wr{};
  wr.wr_id = 6;
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.invalidate_rkey = w.mr->rkey;
  j.require("ibv_post_send", w.pair.b.post_send(wr));
  const ibv_wc wc = expect_completion(j, "local invalidate", w.pair.b.send_cq,
                                      {IBV_WC_SUCCESS, IBV_WC_MW_BIND_ERR});
  if (wc.status != IBV_WC_SUCCESS) return;
  expect_denied(j, "Read by the key of the region", w.pair,
                remote(IBV_WR_RDMA_READ, w.memory.get(), w.mr->rkey), kWord);
}

void window_of_iova(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  constexpr std::uint64_t kIova = std::uint64_t{0x5A} << 32;
  Mr mr(ibv_reg_mr_iova(w.pair.b.pd.get(), w.memory.get(), kPage, kIova, kBindable));
  j.require("ibv_reg_mr_iova", errno_of(mr.get()));
  ibv_mw_bind_info to = w.info(kRead);
  to.mr = mr.get();
  to.addr = kIova + kMiddle;
  w.bind(to);
  expect_done(j, "Read at the virtual address", w.pair,
              remote(IBV_WR_RDMA_READ, kIova + kMiddle, w.mw->rkey), kWord);
  j.expect_text("payload", w.pair.a.memory(0), {"window"});
  j.expect("ibv_dealloc_mw", w.mw.destroy());
}

void remote_invalidate(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  w.bind(w.info(kRead));
  const ibv_send_wr wr = w.request(IBV_WR_RDMA_READ);
  expect_done(j, "Read while the window is bound", w.pair, wr, kWord);
  j.require("ibv_post_recv", w.pair.b.post_recv(1));
  ibv_send_wr send = w.pair.a.request(2, IBV_WR_SEND_WITH_INV, w.pair.b);
  send.invalidate_rkey = w.mw->rkey;
  expect_local(j, "Send with invalidate", w.pair.a, send, 0);
  const ibv_wc wc = expect_completion(j, "completion of the receive", w.pair.b.recv_cq);
  j.expect_true("wc_flags", (wc.wc_flags & IBV_WC_WITH_INV) != 0, "IBV_WC_WITH_INV");
  j.expect_true("invalidated_rkey", wc.invalidated_rkey == w.mw->rkey, "the key of the window");
  j.expect("ibv_dereg_mr after it", w.mr.destroy());
  expect_denied(j, "Read after it", w.pair, wr, kWord);
}

void zero_based(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  w.bind(w.info(kRead | IBV_ACCESS_ZERO_BASED));
  expect_done(j, "Read at offset 0", w.pair, remote(IBV_WR_RDMA_READ, std::uint64_t{0}, w.mw->rkey),
              kWord);
  j.expect_text("payload", w.pair.a.memory(0), {"window"});
}

// A window of type 2 belongs to the queue pair that bound it.
void other_qp(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  Pair other(j, {}, {.pd = w.pair.b.pd.get()});
  w.bind(w.info(kRead));
  expect_denied(j, "Read over another queue pair of the domain", other, w.request(IBV_WR_RDMA_READ),
                kWord);
}

void invalidate_of_other_qp(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  Pair other(j, {}, {.pd = w.pair.b.pd.get()});
  w.bind(w.info(kRead));
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.invalidate_rkey = w.mw->rkey;
  expect_local(j, "local invalidate by another queue pair", other.b, wr, 0, {IBV_WC_MW_BIND_ERR});
  expect_done(j, "Read over the queue pair of the window", w.pair, w.request(IBV_WR_RDMA_READ),
              kWord);
}

void type_1_over_other_qp(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  Pair other(j, {}, {.pd = w.pair.b.pd.get()});
  w.bind(w.info(kRead));
  expect_done(j, "Read over another queue pair of the domain", other, w.request(IBV_WR_RDMA_READ),
              kWord);
}

constexpr ibv_mw_type kType1 = IBV_MW_TYPE_1;
constexpr ibv_mw_type kType2 = IBV_MW_TYPE_2;
constexpr ibv_wr_opcode kReadIt = IBV_WR_RDMA_READ;
constexpr ibv_wr_opcode kWriteIt = IBV_WR_RDMA_WRITE;
constexpr ibv_wr_opcode kAddToIt = IBV_WR_ATOMIC_FETCH_AND_ADD;
constexpr int kUnbindable = kAllRights;
constexpr int kNoLocalWrite = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;

// clang-format off
constexpr Case kCases[] = {
    {"mw/alloc/unknown", "IBV-181", "refuses a type of window that does not exist", alloc_unknown, kWindow1},
    {"mw/alloc/type-1", "IBV-180", "allocates a window of type 1", alloc_fields<kType1>, kWindow1},
    {"mw/alloc/type-2", "IBV-180", "allocates a window of type 2", alloc_fields<kType2>, kWindow2},

    {"mw/1/unbound", "IBV-182", "refuses a Read by the key of an unbound window", unbound<kType1>, kWindow1},
    {"mw/1/read", "IBV-51 IBV-183 IBV-194", "permits Reads by a window", permits<kType1, kRead, kReadIt>, kWindow1},
    {"mw/1/write", "IBV-183 IBV-194", "permits Writes by a window", permits<kType1, kWrite, kWriteIt>, kWindow1},
    {"mw/1/atomic", "IBV-183", "permits atomics by a window", permits<kType1, kAtomic, kAddToIt>, kWindow1 | kAtomics},
    {"mw/1/read-denied", "IBV-194", "refuses a Read by a window for Writes", denies<kType1, kWrite, kReadIt>, kWindow1},
    {"mw/1/write-denied", "IBV-194", "refuses a Write by a window for Reads", denies<kType1, kRead, kWriteIt>, kWindow1},
    {"mw/1/before", "IBV-183", "refuses a Read that starts before a window", outside<kType1, kMiddle - 1, 2>, kWindow1},
    {"mw/1/after", "IBV-183", "refuses a Read that ends after a window", outside<kType1, 2 * kMiddle - 1, 2>, kWindow1},
    {"mw/1/whole-region", "IBV-203", "binds a window to a whole region", whole_region<kType1>, kWindow1},
    {"mw/1/bind-without-right", "IBV-136 IBV-197 IBV-318", "does not bind to a region without IBV_ACCESS_MW_BIND", bind_fails<kType1, kUnbindable, kRead, kMiddle, kMiddle>, kWindow1},
    {"mw/1/bind-write-without-local", "IBV-193 IBV-318", "does not grant Writes on a region without local write", bind_fails<kType1, kNoLocalWrite, kWrite, kMiddle, kMiddle>, kWindow1},
    {"mw/1/bind-after", "IBV-197 IBV-203 IBV-318", "does not bind a window that exceeds the region", bind_fails<kType1, kBindable, kRead, kMiddle, kPage>, kWindow1},
    {"mw/1/old-key", "IBV-188 IBV-190", "changes the key when it binds", old_key<kType1>, kWindow1},
    {"mw/1/region", "IBV-183", "keeps the key of the region valid", region_remains<kType1>, kWindow1},
    {"mw/1/dereg-bound", "IBV-148", "keeps a region while a window is bound", dereg_bound<kType1>, kWindow1},
    {"mw/1/dealloc-bound", "IBV-187", "unbinds a window when it is deallocated", dealloc_bound<kType1>, kWindow1},
    {"mw/1/send-after-bind", "IBV-189 IBV-196", "binds before it performs the next Send", send_follows<kType1>, kWindow1},
    {"mw/1/foreign-region", "IBV-199", "refuses to bind to a region of another domain", foreign_region<kType1>, kWindow1},
    {"mw/1/other-queue-pair", "IBV-183", "permits access over each queue pair of the domain", type_1_over_other_qp, kWindow1},
    {"mw/1/call-of-type-2", "IBV-198", "refuses ibv_bind_mw of a window of type 2", bind_call_of_type_2, kWindow1 | kWindow2},
    {"mw/1/null-with-length", "IBV-190", "refuses to bind to no region with a length", bind_null_with_length, kWindow1},
    {"mw/1/datagrams", "IBV-192", "refuses a bind on a queue pair of type UD", on_datagrams, kWindow1 | kUd},
    {"mw/1/wrong-flags", "IBV-206", "refuses a right that no window has", bind_fails<kType1, kBindable, kRead | IBV_ACCESS_MW_BIND, kMiddle, kMiddle>, kWindow1},
    {"mw/1/unsignaled", "IBV-191", "completes a bind only if it is signaled", unsignaled, kWindow1},
    {"mw/1/zero-based", "IBV-207", "does not bind a zero-based window of type 1", zero_based_type_1, kWindow1},
    {"mw/1/unbind", "IBV-184", "unbinds by a bind of length 0", unbind, kWindow1},
    {"mw/1/rebind", "IBV-204", "moves a window by another bind", rebind, kWindow1},

    {"mw/2/unbound", "IBV-182", "refuses a Read by the key of an unbound window", unbound<kType2>, kWindow2},
    {"mw/2/read", "IBV-51 IBV-183 IBV-194", "permits Reads by a window", permits<kType2, kRead, kReadIt>, kWindow2},
    {"mw/2/write", "IBV-183 IBV-194", "permits Writes by a window", permits<kType2, kWrite, kWriteIt>, kWindow2},
    {"mw/2/atomic", "IBV-183", "permits atomics by a window", permits<kType2, kAtomic, kAddToIt>, kWindow2 | kAtomics},
    {"mw/2/read-denied", "IBV-194", "refuses a Read by a window for Writes", denies<kType2, kWrite, kReadIt>, kWindow2},
    {"mw/2/write-denied", "IBV-194", "refuses a Write by a window for Reads", denies<kType2, kRead, kWriteIt>, kWindow2},
    {"mw/2/before", "IBV-183", "refuses a Read that starts before a window", outside<kType2, kMiddle - 1, 2>, kWindow2},
    {"mw/2/after", "IBV-183", "refuses a Read that ends after a window", outside<kType2, 2 * kMiddle - 1, 2>, kWindow2},
    {"mw/2/whole-region", "IBV-203", "binds a window to a whole region", whole_region<kType2>, kWindow2},
    {"mw/2/bind-without-right", "IBV-136 IBV-197 IBV-318", "does not bind to a region without IBV_ACCESS_MW_BIND", bind_fails<kType2, kUnbindable, kRead, kMiddle, kMiddle>, kWindow2},
    {"mw/2/bind-write-without-local", "IBV-193 IBV-318", "does not grant Writes on a region without local write", bind_fails<kType2, kNoLocalWrite, kWrite, kMiddle, kMiddle>, kWindow2},
    {"mw/2/bind-after", "IBV-197 IBV-203 IBV-318", "does not bind a window that exceeds the region", bind_fails<kType2, kBindable, kRead, kMiddle, kPage>, kWindow2},
    {"mw/2/wrong-flags", "IBV-206", "refuses a right that no window has", bind_fails<kType2, kBindable, kRead | IBV_ACCESS_MW_BIND, kMiddle, kMiddle>, kWindow2},
    {"mw/2/bind-length-zero", "IBV-318", "does not bind a window of type 2 to 0 bytes", bind_fails<kType2, kBindable, kRead, kMiddle, 0>, kWindow2},
    {"mw/2/old-key", "IBV-188 IBV-209", "uses the key that the bind specifies", old_key<kType2>, kWindow2},
    {"mw/2/region", "IBV-183", "keeps the key of the region valid", region_remains<kType2>, kWindow2},
    {"mw/2/dereg-bound", "IBV-148", "keeps a region while a window is bound", dereg_bound<kType2>, kWindow2},
    {"mw/2/dealloc-bound", "IBV-187", "unbinds a window when it is deallocated", dealloc_bound<kType2>, kWindow2},
    {"mw/2/send-after-bind", "IBV-189 IBV-196", "binds before it performs the next Send", send_follows<kType2>, kWindow2},
    {"mw/2/foreign-region", "IBV-199", "refuses to bind to a region of another domain", foreign_region<kType2>, kWindow2},
    {"mw/2/bound", "IBV-200", "does not bind a window of type 2 that is bound", bind_bound, kWindow2},
    {"mw/2/invalidate", "IBV-185 IBV-521", "invalidates a window by IBV_WR_LOCAL_INV", local_invalidate, kWindow2},
    {"mw/2/invalidate-unbound", "IBV-205", "completes an invalidation of a window that is not bound", invalidate_unbound, kWindow2},
    {"mw/2/invalidate-region", "IBV-205", "makes the key of a region invalid, or refuses to invalidate it", invalidate_region, kWindow2},
    {"mw/2/invalidate-unknown", "IBV-205", "does not invalidate a key that it does not know", invalidate_unknown, kWindow2},
    {"mw/2/iova", "IBV-202", "binds a window at the virtual address of a region", window_of_iova, kWindow2},
    {"mw/2/bind-again", "IBV-520", "binds a window again after invalidating it", bind_after_invalidate, kWindow2},
    {"mw/2/remote-invalidate", "IBV-186 IBV-284 IBV-519", "invalidates a window by IBV_WR_SEND_WITH_INV", remote_invalidate, kWindow2},
    {"mw/2/zero-based", "IBV-195", "addresses a zero-based window from 0", zero_based, kWindow2},
    {"mw/2/other-queue-pair", "IBV-201", "refuses access over another queue pair", other_qp, kWindow2},
    {"mw/2/invalidate-by-other-queue-pair", "IBV-205", "does not let another queue pair invalidate a window", invalidate_of_other_qp, kWindow2},
};
// clang-format on

}  // namespace

std::span<const Case> window_cases() { return kCases; }

}  // namespace iwarp::judge
