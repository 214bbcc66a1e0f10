// SPDX-License-Identifier: Apache-2.0
// Cases about memory windows of type 2, which a request of the send queue binds and invalidates.
#include "judge/cases/memory/windows.hpp"

namespace iwarp::judge::windows::type_2 {
namespace {

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
  expect_local(j, "local invalidate of a window that is not bound", w.pair.b,
               invalidation(w.mw->rkey), 0, {IBV_WC_SUCCESS, IBV_WC_MW_BIND_ERR});
}

void invalidate_unknown(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  expect_local(j, "local invalidate", w.pair.b, invalidation(w.mw->rkey ^ 1U << 30), 0,
               {IBV_WC_MW_BIND_ERR});
}

// The verbs of iWARP permit to invalidate a region that is not shared, and the kernel's rxe permits
// it only for regions of the kernel.
void invalidate_region(Judge& j) {
  Bound w(j, IBV_MW_TYPE_2);
  j.require("ibv_post_send", w.pair.b.post_send(invalidation(w.mr->rkey)));
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
  expect_local(j, "local invalidate by another queue pair", other.b, invalidation(w.mw->rkey), 0,
               {IBV_WC_MW_BIND_ERR});
  expect_done(j, "Read over the queue pair of the window", w.pair, w.request(IBV_WR_RDMA_READ),
              kWord);
}

// clang-format off
constexpr Case kCases[] = {
    JUDGE_WINDOW_ACCESS(2),
    {"mw/2/wrong-flags", "IBV-206", "refuses an access flag that no window supports", bind_fails<kType2, kBindable, kRead | IBV_ACCESS_MW_BIND, kMiddle, kMiddle>, kWindow2},
    {"mw/2/bind-length-zero", "IBV-318", "does not bind a window of type 2 to 0 bytes", bind_fails<kType2, kBindable, kRead, kMiddle, 0>, kWindow2},
    {"mw/2/old-key", "IBV-188 IBV-209", "uses the rkey that the bind request specifies", old_key<kType2>, kWindow2},
    JUDGE_WINDOW_LIFE(2),
    {"mw/2/bound", "IBV-200", "refuses to bind a window of type 2 that is already bound", bind_bound, kWindow2},
    {"mw/2/invalidate", "IBV-185 IBV-521", "invalidates a window by IBV_WR_LOCAL_INV", local_invalidate, kWindow2},
    {"mw/2/invalidate-unbound", "IBV-205", "completes an invalidation of a window that is not bound", invalidate_unbound, kWindow2},
    {"mw/2/invalidate-region", "IBV-205", "invalidates the rkey of a region by IBV_WR_LOCAL_INV, or refuses to do so", invalidate_region, kWindow2},
    {"mw/2/invalidate-unknown", "IBV-205", "fails IBV_WR_LOCAL_INV of an unknown rkey", invalidate_unknown, kWindow2},
    {"mw/2/iova", "IBV-202", "binds a window to a region by the region's iova", window_of_iova, kWindow2},
    {"mw/2/bind-again", "IBV-520", "binds a window again after it was invalidated", bind_after_invalidate, kWindow2},
    {"mw/2/remote-invalidate", "IBV-186 IBV-284 IBV-519", "invalidates a window by IBV_WR_SEND_WITH_INV", remote_invalidate, kWindow2},
    {"mw/2/zero-based", "IBV-195", "addresses a zero-based window from 0", zero_based, kWindow2},
    {"mw/2/other-queue-pair", "IBV-201", "refuses access through a type 2 window over another queue pair", other_qp, kWindow2},
    {"mw/2/invalidate-by-other-queue-pair", "IBV-205", "does not let another queue pair invalidate a type 2 window", invalidate_of_other_qp, kWindow2},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::windows::type_2

iwarp::judge::Table iwarp::judge::memory_windows_type_2_cases() { return windows::type_2::kCases; }
