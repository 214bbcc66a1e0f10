// SPDX-License-Identifier: Apache-2.0
// Tests the errors of incorrect calls: calls with invalid handles, and the errors that the manual
// pages list.
#include <array>
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

// [IBV-190, IBV-207]
TEST_CASE("a window of type 1 cannot be zero-based") {
  Pair pair;
  ibv_mw* const mw = must(ibv_alloc_mw(pair.a.pd, IBV_MW_TYPE_1));
  ibv_mw_bind bind{.bind_info = pair.a.first(8, IBV_ACCESS_REMOTE_READ)};
  const auto key = mw->rkey;
  bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
  CHECK_EQ(ibv_bind_mw(pair.a.qp, mw, &bind), EINVAL);
  CHECK_EQ(mw->rkey, key);
  bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
  CHECK_EQ(ibv_bind_mw(pair.a.qp, mw, &bind), 0);
  success(pair.a.cq);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

// [IBV-205]
TEST_CASE("a local invalidate that is refused is a memory management error") {
  Pair pair;
  ibv_mw* const mw = must(ibv_alloc_mw(pair.a.pd, IBV_MW_TYPE_2));
  const auto rkey = pair.a.bind(mw, pair.a.first(8, IBV_ACCESS_REMOTE_READ));
  REQUIRE_EQ(pair.b.post({.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey}), 0);
  CHECK_EQ(next(pair.b.cq).status, IBV_WC_MW_BIND_ERR);
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

// [IBV-160, IBV-165]
TEST_CASE("a region that would be re-registered with no memory stays unchanged") {
  const End end;
  const auto rereg = [&](int flags, void* at, std::size_t length, int access) {
    errno = 0;
    const int code = ibv_rereg_mr(end.mr, flags, nullptr, at, length, access);
    CHECK_EQ(errno, EINVAL);
    return code;
  };
  std::array<std::byte, 8> there{};
  CHECK_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, there.data(), 0, 0), IBV_REREG_MR_ERR_INPUT);
  CHECK_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, 8, 0), IBV_REREG_MR_ERR_INPUT);
  CHECK_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, there.data(), 8, IBV_ACCESS_LOCAL_WRITE),
           IBV_REREG_MR_ERR_INPUT);
  CHECK_EQ(rereg(0, nullptr, 0, 0), IBV_REREG_MR_ERR_CMD);
  CHECK_EQ(end.mr->length, end.buffer.size());
}

// [IBV-209, IBV-561, IBV-562]
TEST_CASE(
    "a window has its new key once its bind is posted, and is invalidated, by any of the calls") {
  Pair pair({.extended = true});
  ibv_mw* const mw = must(ibv_alloc_mw(pair.a.pd, IBV_MW_TYPE_2));
  const auto where = pair.a.first(8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  for (const bool by_builder : {false, true, false}) {
    if (!by_builder) {
      const auto rkey = pair.a.bind(mw, where);
      REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey}), 0);
      CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_LOCAL_INV);
      continue;
    }
    const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
    ibv_qp_ex* const qp = must(ibv_qp_to_qp_ex(pair.a.qp));
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_bind_mw(qp, mw, rkey, &where);
    ibv_wr_local_inv(qp, rkey);
    REQUIRE_EQ(ibv_wr_complete(qp), 0);
    CHECK_EQ(mw->rkey, rkey);
    CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_BIND_MW);
    CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_LOCAL_INV);
  }
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

// [IBV-24, IBV-47, IBV-63, IBV-77, IBV-79, IBV-82, IBV-91]
TEST_CASE("the device and its port have the attributes that programs look for") {
  const End end;
  ibv_device_attr device{};
  REQUIRE_EQ(ibv_query_device(end.context, &device), 0);
  // The device has no OUI. The kernel's software devices report the same value.
  CHECK_EQ(device.vendor_id, 0xFFFFFF);
  CHECK_EQ(device.atomic_cap, IBV_ATOMIC_HCA);
  CHECK_EQ(device.phys_port_cnt, 1);
  CHECK_GT(device.max_qp, 0);
  CHECK_GT(device.max_qp_rd_atom, 0);
  ibv_device_attr_ex extended{};
  REQUIRE_EQ(ibv_query_device_ex(end.context, nullptr, &extended), 0);
  CHECK_EQ(extended.orig_attr.max_cqe, device.max_cqe);
  CHECK_EQ(extended.phys_port_cnt_ex, 1);
  CHECK_EQ(end.context->device->node_type, IBV_NODE_RNIC);
  CHECK_EQ(end.context->device->transport_type, IBV_TRANSPORT_IWARP);
  ibv_port_attr port{};
  REQUIRE_EQ(ibv_query_port(end.context, 1, &port), 0);
  CHECK_NE(port.active_speed, 0);
  CHECK_NE(port.active_width, 0);
  CHECK_EQ(port.state, IBV_PORT_ACTIVE);
  CHECK_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  CHECK_EQ(ibv_query_port(end.context, 2, &port), EINVAL);
}

// [IBV-319, IBV-517]
TEST_CASE("an atomic whose target is not aligned is an invalid request, whatever its lkey") {
  for (const bool wrong_lkey : {false, true}) {
    CAPTURE(wrong_lkey);
    Pair pair;
    ibv_sge word = pair.a.sge(0, 8);
    if (wrong_lkey) word.lkey ^= 0x100;
    ibv_send_wr wr{.sg_list = &word, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
    wr.wr.atomic = {.remote_addr = pair.b.remote(4), .compare_add = 1, .rkey = pair.b.mr->rkey};
    REQUIRE_EQ(post_send(pair.a.qp, wr), 0);
    CHECK_EQ(std::string(ibv_wc_status_str(next(pair.a.cq).status)),
             ibv_wc_status_str(IBV_WC_REM_INV_REQ_ERR));
  }
}

}  // namespace
