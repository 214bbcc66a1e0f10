// SPDX-License-Identifier: Apache-2.0
// Cases about protection domains.
#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"

namespace iwarp::judge::memory_domains {
namespace {

void pd_fields(Judge& j) {
  Pd one(ibv_alloc_pd(j.context()));
  Pd other(ibv_alloc_pd(j.context()));
  j.require("ibv_alloc_pd", errno_of(one.get()));
  j.require("ibv_alloc_pd again", errno_of(other.get()));
  j.expect_true("ibv_pd.context", one->context == j.context(), "the context of the call");
  j.expect_true("two protection domains", one.get() != other.get(), "an object for each call");
  j.expect("ibv_dealloc_pd", one.destroy());
}

/// Compares that ibv_dealloc_pd() fails while `user` is there, and then works.
template <typename T>
void expect_busy(Judge& j, Pd& pd, T user) {
  j.require("creating an object of the domain", errno_of(user.get()));
  j.expect("ibv_dealloc_pd with the object", pd.destroy(), {EBUSY});
  j.expect("destroying the object", user.destroy());
  j.expect("ibv_dealloc_pd without the object", pd.destroy());
}

void pd_with_mr(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  const Pages memory = pages();
  expect_busy(j, pd, Mr(ibv_reg_mr(pd.get(), memory.get(), kPage, 0)));
}

template <ibv_mw_type type>
void pd_with_mw(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  expect_busy(j, pd, Mw(ibv_alloc_mw(pd.get(), type)));
}

void pd_with_srq(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = {.max_wr = 1, .max_sge = 1}};
  expect_busy(j, pd, Srq(ibv_create_srq(pd.get(), &init)));
}

void pd_with_qp(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  Cq cq(ibv_create_cq(j.context(), 1, nullptr, nullptr, 0));
  ibv_qp_init_attr init{
      .send_cq = cq.get(),
      .recv_cq = cq.get(),
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC};
  expect_busy(j, pd, Qp(ibv_create_qp(pd.get(), &init)));
}

void pd_with_ah(Judge& j) {
  End end(j, {.type = IBV_QPT_UD});
  Pd pd(ibv_alloc_pd(j.context()));
  expect_busy(j, pd, Ah(ibv_create_ah(pd.get(), &end.attr.ah_attr)));
}

// clang-format off
constexpr Case kCases[] = {
    {"pd/alloc", "IBV-117", "allocates protection domains", pd_fields},
    {"pd/dealloc/with-mr", "IBV-118", "refuses to deallocate a protection domain that has a region", pd_with_mr},
    {"pd/dealloc/with-mw-1", "IBV-118", "refuses to deallocate a protection domain that has a window of type 1", pd_with_mw<IBV_MW_TYPE_1>, kWindow1},
    {"pd/dealloc/with-mw-2", "IBV-118", "refuses to deallocate a protection domain that has a window of type 2", pd_with_mw<IBV_MW_TYPE_2>, kWindow2},
    {"pd/dealloc/with-srq", "IBV-118", "refuses to deallocate a protection domain that has an SRQ", pd_with_srq, kSrq},
    {"pd/dealloc/with-qp", "IBV-118", "refuses to deallocate a protection domain that has a queue pair", pd_with_qp},
    {"pd/dealloc/with-ah", "IBV-118", "refuses to deallocate a protection domain that has an address handle", pd_with_ah, kUd},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::memory_domains

iwarp::judge::Table iwarp::judge::memory_domains_cases() { return memory_domains::kCases; }
