// SPDX-License-Identifier: Apache-2.0
// Tests the errors of incorrect calls: calls with invalid handles, and the errors that the manual
// pages list.
#include <set>

#include "support.hpp"

namespace {

using namespace data;

// [IBV-81]
TEST_CASE("every object has a unique handle") {
  const End end({.shared_receives = true});
  ibv_mw* const mw = must(ibv_alloc_mw(end.pd, IBV_MW_TYPE_1));
  const std::set<std::uint32_t> numbers{end.pd->handle,  end.mr->handle, mw->handle,
                                        end.srq->handle, end.cq->handle, end.qp->handle};
  CHECK_EQ(numbers.size(), 6);
  CHECK_FALSE(numbers.contains(0));
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

/// Checks that `call` returns ENOENT and sets errno to ENOENT.
template <typename Call>
void check_unknown(Call call) {
  errno = 0;
  CHECK_EQ(call(), ENOENT);
  CHECK_EQ(errno, ENOENT);
}

/// Checks that `call`, which would create an object, returns null and sets errno to ENOENT.
template <typename Call>
void check_makes_nothing(Call call) {
  errno = 0;
  CHECK_EQ(error_of(call()), ENOENT);
}

/// While a `Disguised` exists, `object` has a handle that belongs to no object.
template <typename T>
struct Disguised {
  explicit Disguised(T* object) : of(object), handle(object->handle) { of->handle += 1000; }
  ~Disguised() { of->handle = handle; }
  Disguised(const Disguised&) = delete;
  Disguised& operator=(const Disguised&) = delete;
  T* of;
  std::uint32_t handle;
};

TEST_CASE("an invalid handle is ENOENT, and the call changes nothing") {
  End end({.shared_receives = true});
  ibv_mw* const mw = must(ibv_alloc_mw(end.pd, IBV_MW_TYPE_1));
  {
    const Disguised pd(end.pd);
    const int rights = IBV_ACCESS_LOCAL_WRITE;
    check_unknown([&] { return ibv_dealloc_pd(end.pd); });
    check_makes_nothing([&] { return ibv_reg_mr(end.pd, end.buffer.data(), 8, rights); });
    check_makes_nothing([&] { return ibv_alloc_mw(end.pd, IBV_MW_TYPE_1); });
    ibv_srq_init_attr srq{.attr = {.max_wr = 1, .max_sge = 1}};
    check_makes_nothing([&] { return ibv_create_srq(end.pd, &srq); });
  }
  ibv_qp_init_attr init{.send_cq = end.cq,
                        .recv_cq = end.cq,
                        .srq = end.srq,
                        .cap = {.max_send_wr = 1, .max_send_sge = 1},
                        .qp_type = IBV_QPT_RC};
  {
    const Disguised cq(end.cq);
    check_makes_nothing([&] { return ibv_create_qp(end.pd, &init); });
    check_unknown([&] { return ibv_resize_cq(end.cq, 4); });
    check_unknown([&] { return ibv_destroy_cq(end.cq); });
  }
  {
    const Disguised srq(end.srq);
    ibv_srq_attr attr{};
    check_makes_nothing([&] { return ibv_create_qp(end.pd, &init); });
    check_unknown([&] { return ibv_modify_srq(end.srq, &attr, IBV_SRQ_LIMIT); });
    check_unknown([&] { return ibv_query_srq(end.srq, &attr); });
    check_unknown([&] { return ibv_destroy_srq(end.srq); });
  }
  {
    const Disguised qp(end.qp);
    ibv_qp_attr attr{};
    check_unknown([&] { return ibv_modify_qp(end.qp, &attr, IBV_QP_STATE); });
    check_unknown([&] { return ibv_query_qp(end.qp, &attr, IBV_QP_STATE, &init); });
    check_unknown([&] { return ibv_destroy_qp(end.qp); });
  }
  {
    const Disguised mr(end.mr);
    check_unknown([&] { return ibv_dereg_mr(end.mr); });
    CHECK_EQ(ibv_rereg_mr(end.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
             IBV_REREG_MR_ERR_CMD);
    CHECK_EQ(errno, ENOENT);
  }
  {
    const Disguised window(mw);
    check_unknown([&] { return ibv_dealloc_mw(mw); });
  }
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_CASE("an object is unknown to any context other than the one that created it") {
  End end;
  ibv_context* const other = open_device();
  ibv_pd* const pd = must(ibv_alloc_pd(end.context));
  pd->context = other;
  check_unknown([&] { return ibv_dealloc_pd(pd); });
  check_makes_nothing([&] { return ibv_alloc_mw(pd, IBV_MW_TYPE_2); });
  pd->context = end.context;
  CHECK_EQ(ibv_dealloc_pd(pd), 0);
  end.mr->context = other;
  check_unknown([&] { return ibv_dereg_mr(end.mr); });
  end.mr->context = end.context;
  end.cq->context = other;
  check_unknown([&] { return ibv_resize_cq(end.cq, 4); });
  end.cq->context = end.context;
  CHECK_EQ(ibv_close_device(other), 0);
}

TEST_CASE("a bind uses the values in the caller's structures, which may be copies") {
  Pair pair;
  ibv_mw* const mw = must(ibv_alloc_mw(pair.a.pd, IBV_MW_TYPE_2));
  ibv_mw window = *mw;
  ibv_mr region = *pair.a.mr;
  ibv_send_wr wr{.opcode = IBV_WR_BIND_MW};
  wr.bind_mw = {.mw = &window,
                .rkey = ibv_inc_rkey(mw->rkey),
                .bind_info = pair.a.first(8, IBV_ACCESS_REMOTE_READ)};
  wr.bind_mw.bind_info.mr = &region;
  REQUIRE_EQ(pair.a.post(wr), 0);
  success(pair.a.cq);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_CASE("a copy of a handle whose object has been destroyed is ENOENT") {
  const End end;
  ibv_pd* const pd = must(ibv_alloc_pd(end.context));
  ibv_pd copy = *pd;
  REQUIRE_EQ(ibv_dealloc_pd(pd), 0);
  check_unknown([&] { return ibv_dealloc_pd(&copy); });
  check_makes_nothing([&] { return ibv_alloc_mw(&copy, IBV_MW_TYPE_2); });
}

}  // namespace
