// SPDX-License-Identifier: Apache-2.0
// Tests what only queue pairs of an RNIC do; apps/judge tests their attributes and states.
#include "support.hpp"

using namespace data;

// [IBV-400]
TEST_CASE("objects of two contexts of a device can be used together") {
  End one;
  ibv_context* const second = open_device();
  {
    End other({.context = second, .pd = one.pd});
    one.bring_up(other.qp);
    other.bring_up(one.qp);
    one.write(0, "elsewhere");
    REQUIRE_EQ(other.post_recv(1, 0, 64), 0);
    REQUIRE_EQ(one.post({.opcode = IBV_WR_SEND}, 0, 9), 0);
    CHECK_EQ(success(other.cq).byte_len, 9);
    CHECK_EQ(other.text(0, 9), "elsewhere");
  }
  CHECK_EQ(ibv_close_device(second), 0);
}

TEST_CASE("a queue pair in RESET reports INIT, because it already accepts receives") {
  End end;
  CHECK_EQ(end.qp->state, IBV_QPS_RESET);
  CHECK_EQ(end.state(), IBV_QPS_INIT);
  CHECK_EQ(end.post_recv(1, 0, 8), 0);
}

TEST_CASE("the send queue of an RNIC cannot be drained; only RoCE has IBV_EVENT_SQ_DRAINED") {
  End end;
  for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    REQUIRE_EQ(end.modify(state), 0);
    CHECK_EQ(end.modify(IBV_QPS_SQD), EOPNOTSUPP);
    CHECK_EQ(end.state(), state);
  }
  ibv_qp_attr attr{.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
  CHECK_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), EOPNOTSUPP);
  CHECK_EQ(end.state(), IBV_QPS_RTS);
}

TEST_CASE("neither Sends nor the Write with which a connection begins need access rights") {
  End a;
  End b;
  a.bring_up(b.qp, 0);
  b.bring_up(a.qp, 0);
  for (End* one : {&a, &b}) REQUIRE_EQ(one->post_recv(1, 0, 8), 0);
  for (End* one : {&a, &b}) REQUIRE_EQ(one->post({.opcode = IBV_WR_SEND}, 0, 8), 0);
  for (End* one : {&a, &b}) {
    for (int i = 0; i < 2; ++i) success(one->cq);
  }
}

// [IBV-309]
TEST_CASE("of a destroyed queue pair, only completions without an error can be polled") {
  Pair pair;
  REQUIRE_EQ(ibv_req_notify_cq(pair.b.cq, 0), 0);
  REQUIRE_EQ(pair.b.post_recv(7, 0, 8), 0);
  REQUIRE_EQ(pair.b.post_recv(8, 8, 8), 0);
  REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 8), 0);
  pair.b.take_event();
  REQUIRE_EQ(pair.b.modify(IBV_QPS_ERR), 0);
  REQUIRE_EQ(ibv_destroy_qp(std::exchange(pair.b.qp, nullptr)), 0);
  CHECK_EQ(success(pair.b.cq).wr_id, 7);
  CHECK(is_empty(pair.b.cq));
}

// [IBV-404, IBV-407, IBV-626]
TEST_CASE("extended attributes that iWARP does not have are refused") {
  End end;
  ibv_qp_init_attr_ex attr{.send_cq = end.cq, .recv_cq = end.cq, .qp_type = IBV_QPT_RC};
  attr.pd = end.pd;
  SUBCASE("IBV_QP_EX_WITH_FLUSH of later versions") {
    attr.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = 1 << 11;
  }
  SUBCASE("flags") {
    attr.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  }
  SUBCASE("hashes") { attr.comp_mask = IBV_QP_INIT_ATTR_RX_HASH; }
  attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
  errno = 0;
  CHECK_EQ(error_of(ibv_create_qp_ex(end.context, &attr)), EOPNOTSUPP);
}

// [IBV-24, IBV-79]
TEST_CASE("the device has no OUI, as the kernel's software devices, and has atomics") {
  ibv_device_attr device{};
  REQUIRE_EQ(ibv_query_device(End().context, &device), 0);
  CHECK_EQ(device.vendor_id, 0xFFFFFF);
  CHECK_EQ(device.atomic_cap, IBV_ATOMIC_HCA);
}
