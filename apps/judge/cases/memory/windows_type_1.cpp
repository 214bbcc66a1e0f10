// SPDX-License-Identifier: Apache-2.0
// Cases about memory windows of type 1, which ibv_bind_mw() binds.
#include "judge/cases/memory/windows.hpp"

namespace iwarp::judge::windows::type_1 {
namespace {

void alloc_unknown(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  Mw mw(ibv_alloc_mw(pd.get(), static_cast<ibv_mw_type>(3)));
  j.expect("ibv_alloc_mw of type 3", errno_of(mw.get()), {EINVAL});
}

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

void type_1_over_other_qp(Judge& j) {
  Bound w(j, IBV_MW_TYPE_1);
  Pair other(j, {}, {.pd = w.pair.b.pd.get()});
  w.bind(w.info(kRead));
  expect_done(j, "Read over another queue pair of the domain", other, w.request(IBV_WR_RDMA_READ),
              kWord);
}

// clang-format off
constexpr Case kCases[] = {
    {"mw/alloc/unknown", "IBV-181", "refuses a window type that does not exist", alloc_unknown, kWindow1},
    {"mw/alloc/type-1", "IBV-180", "allocates a window of type 1", alloc_fields<kType1>, kWindow1},
    {"mw/alloc/type-2", "IBV-180", "allocates a window of type 2", alloc_fields<kType2>, kWindow2},
    JUDGE_WINDOW_ACCESS(1),
    {"mw/1/old-key", "IBV-188 IBV-190", "gives a window a new rkey when it is bound", old_key<kType1>, kWindow1},
    JUDGE_WINDOW_LIFE(1),
    {"mw/1/other-queue-pair", "IBV-183", "permits access through a type 1 window over each queue pair of its PD", type_1_over_other_qp, kWindow1},
    {"mw/1/call-of-type-2", "IBV-198", "refuses ibv_bind_mw() of a window of type 2", bind_call_of_type_2, kWindow1 | kWindow2},
    {"mw/1/null-with-length", "IBV-190", "refuses ibv_bind_mw() with a length but without a region", bind_null_with_length, kWindow1},
    {"mw/1/datagrams", "IBV-192", "refuses ibv_bind_mw() on a queue pair of type UD", on_datagrams, kWindow1 | kUd},
    {"mw/1/wrong-flags", "IBV-206", "refuses an access flag that no window supports", bind_fails<kType1, kBindable, kRead | IBV_ACCESS_MW_BIND, kMiddle, kMiddle>, kWindow1},
    {"mw/1/unsignaled", "IBV-191", "completes a bind only if it is signaled", unsignaled, kWindow1},
    {"mw/1/zero-based", "IBV-207", "does not bind a zero-based window of type 1", zero_based_type_1, kWindow1},
    {"mw/1/unbind", "IBV-184", "unbinds a window by a bind of length 0", unbind, kWindow1},
    {"mw/1/rebind", "IBV-204", "moves a window by a second bind", rebind, kWindow1},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::windows::type_1

iwarp::judge::Table iwarp::judge::memory_windows_type_1_cases() { return windows::type_1::kCases; }
