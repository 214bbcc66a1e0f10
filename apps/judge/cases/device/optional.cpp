// SPDX-License-Identifier: Apache-2.0
// Cases about features that few devices have: a device offers them as it reports, or refuses them
// with an errno that says so.
#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <string>

#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"

namespace iwarp::judge::device_optional {
namespace {

/// Compares that a call that returned null says that the device lacks the feature.
void expect_refused(Judge& j, const std::string& step, int code) {
  j.expect(step, code, {EOPNOTSUPP, ENOSYS, EINVAL});
}

ibv_device_attr_ex extended(Judge& j) {
  ibv_device_attr_ex out{};
  j.require("ibv_query_device_ex", errno_of(ibv_query_device_ex(j.context(), nullptr, &out)));
  return out;
}

void thread_domain(Judge& j) {
  ibv_td_init_attr init{};
  ibv_td* const td = ibv_alloc_td(j.context(), &init);
  if (td == nullptr) return expect_refused(j, "ibv_alloc_td", errno);
  j.expect("ibv_dealloc_td", errno_of(ibv_dealloc_td(td)));
}

void parent_domain(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  ibv_parent_domain_init_attr init{};
  init.pd = pd.get();
  Pd parent(ibv_alloc_parent_domain(j.context(), &init));
  if (!parent) return expect_refused(j, "ibv_alloc_parent_domain", errno);
  j.expect("ibv_dealloc_pd of the original domain", pd.destroy(), {EBUSY});
  j.expect("ibv_dealloc_pd of the parent domain", parent.destroy());
  j.expect("ibv_dealloc_pd of the original domain after it", pd.destroy());
}

void null_region(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  Mr mr(ibv_alloc_null_mr(pd.get()));
  if (!mr) return expect_refused(j, "ibv_alloc_null_mr", errno);
  j.expect("ibv_dereg_mr of the null region", mr.destroy());
}

void device_memory(Judge& j) {
  const bool is_offered = extended(j).max_dm_size > 0;
  ibv_alloc_dm_attr attr{};
  attr.length = 64;
  ibv_dm* const dm = ibv_alloc_dm(j.context(), &attr);
  const int code = errno_of(dm);
  if (is_offered) {
    j.expect("ibv_alloc_dm with max_dm_size above 0", code, {0, ENOMEM});
  } else {
    j.expect("ibv_alloc_dm with max_dm_size 0", code, {EOPNOTSUPP, ENOSYS, EINVAL, ENOMEM});
  }
  if (dm != nullptr) j.expect("ibv_free_dm", errno_of(ibv_free_dm(dm)));
}

void wrong_dmabuf(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  Mr mr(ibv_reg_dmabuf_mr(pd.get(), 0, kPage, 0, -1, 0));
  j.expect("ibv_reg_dmabuf_mr of descriptor -1", errno_of(mr.get()),
           {EBADF, EINVAL, EOPNOTSUPP, ENOSYS});
}

// Memory that is not paged on demand needs no prefetching, which a device may also say.
void advise(Judge& j) {
  End end(j);
  ibv_sge sge = end.sge(0, 8);
  const int code = errno_of(ibv_advise_mr(end.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH,
                                          IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
  j.expect("ibv_advise_mr", code, {0, EOPNOTSUPP, ENOSYS, EINVAL});
}

void moderation(Judge& j) {
  const bool is_offered = extended(j).cq_mod_caps.max_cq_count > 0;
  Cq cq(ibv_create_cq(j.context(), 10, nullptr, nullptr, 0));
  ibv_modify_cq_attr attr{};
  attr.attr_mask = IBV_CQ_ATTR_MODERATE;
  attr.moderate = {.cq_count = 1, .cq_period = 1};
  const int code = errno_of(ibv_modify_cq(cq.get(), &attr));
  if (is_offered) {
    j.expect("ibv_modify_cq with max_cq_count above 0", code);
  } else {
    expect_refused(j, "ibv_modify_cq with max_cq_count 0", code);
  }
}

template <ibv_srq_type type>
void special_srq(Judge& j) {
  const bool is_offered = type == IBV_SRQT_TM
                              ? extended(j).tm_caps.max_num_tags > 0
                              : (j.attributes().device_cap_flags & IBV_DEVICE_XRC) != 0;
  if (is_offered) j.not_applicable("the device offers it");
  Pd pd(ibv_alloc_pd(j.context()));
  Cq cq(ibv_create_cq(j.context(), 10, nullptr, nullptr, 0));
  ibv_srq_init_attr_ex init{};
  init.attr = {.max_wr = 4, .max_sge = 1};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
  init.srq_type = type;
  init.pd = pd.get();
  init.cq = cq.get();
  Srq srq(ibv_create_srq_ex(j.context(), &init));
  j.expect_true("ibv_create_srq_ex", srq.get() == nullptr, "null");
  expect_refused(j, "errno", errno);
}

void timestamps(Judge& j) {
  const bool is_offered = extended(j).completion_timestamp_mask != 0;
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 10;
  attr.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const cq = ibv_create_cq_ex(j.context(), &attr);
  const int code = errno_of(cq);
  if (is_offered) {
    j.expect("ibv_create_cq_ex with time stamps", code);
  } else {
    expect_refused(j, "ibv_create_cq_ex with time stamps, not offered", code);
  }
  if (cq != nullptr) ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

void xrc_domain(Judge& j) {
  ibv_xrcd_init_attr init{};
  init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  init.fd = -1;
  init.oflags = O_CREAT;
  ibv_xrcd* const made = ibv_open_xrcd(j.context(), &init);
  const bool is_offered = (j.attributes().device_cap_flags & IBV_DEVICE_XRC) != 0;
  j.expect_true("ibv_open_xrcd", (made != nullptr) == is_offered,
                "works if and only if IBV_DEVICE_XRC is set");
  if (made != nullptr) ibv_close_xrcd(made);
}

// NCCL loads libibverbs in this way.
void versions(Judge& j) {
  constexpr std::array kNames{"ibv_get_device_list", "ibv_open_device", "ibv_query_device",
                              "ibv_query_gid",       "ibv_alloc_pd",    "ibv_reg_mr",
                              "ibv_create_cq",       "ibv_create_qp",   "ibv_modify_qp",
                              "ibv_query_qp",        "ibv_fork_init",   "ibv_event_type_str"};
  void* const library = ::dlopen("libibverbs.so.1", RTLD_NOW);
  j.require_true("dlopen of libibverbs.so.1", library != nullptr, "a handle");
  const bool all = std::ranges::all_of(
      kNames, [&](const char* name) { return ::dlvsym(library, name, "IBVERBS_1.1") != nullptr; });
  j.expect_true("dlvsym of IBVERBS_1.1", all, "each function");
}

// clang-format off
constexpr Case kCases[] = {
    {"optional/thread-domain", "IBV-123", "allocates a thread domain, or reports that it cannot", thread_domain},
    {"optional/parent-domain", "IBV-121", "allocates a parent domain, or reports that it cannot", parent_domain},
    {"optional/null-region", "IBV-173", "allocates a null region, or reports that it cannot", null_region},
    {"optional/device-memory", "IBV-175", "allocates device memory only if max_dm_size is above 0", device_memory},
    {"optional/dma-buf", "IBV-146", "refuses a dma-buf that does not exist", wrong_dmabuf},
    {"optional/advise", "IBV-170", "executes ibv_advise_mr(), or reports that it cannot", advise},
    {"optional/moderation", "IBV-62 IBV-243", "supports IBV_CQ_ATTR_MODERATE exactly if max_cq_count is above 0", moderation},
    {"optional/srq-xrc", "IBV-352", "refuses an XRC SRQ if it lacks IBV_DEVICE_XRC", special_srq<IBV_SRQT_XRC>, kSrq},
    {"optional/srq-tags", "IBV-353", "refuses an SRQ with tag matching if max_num_tags is 0", special_srq<IBV_SRQT_TM>, kSrq},
    {"optional/time-stamps", "IBV-58 IBV-246", "supports time stamps exactly if completion_timestamp_mask is not 0", timestamps, kCqEx},
    {"optional/xrc-domain", "IBV-53", "opens XRC domains exactly if it reports IBV_DEVICE_XRC", xrc_domain},
    {"optional/versions", "IBV-78", "exports its functions with the symbol version IBVERBS_1.1", versions},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::device_optional

iwarp::judge::Table iwarp::judge::device_optional_cases() { return device_optional::kCases; }
