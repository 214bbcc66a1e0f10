// SPDX-License-Identifier: Apache-2.0
// Tests queue pairs: creation attributes, states and teardown.
#include <array>
#include <cstring>
#include <utility>

#include "support.hpp"

using namespace data;

namespace {

// A number without an enumerator. Copied with memcpy(), because a load of it would be undefined.
constexpr int kNone = 28836;

ibv_qp_init_attr basic(End& end) {
  return {.send_cq = end.cq,
          .recv_cq = end.cq,
          .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
          .qp_type = IBV_QPT_RC};
}

int creation_error(End& end, ibv_qp_init_attr attr) {
  errno = 0;
  ibv_qp* qp = ibv_create_qp(end.pd, &attr);
  if (qp == nullptr) return errno;
  CHECK_EQ(ibv_destroy_qp(qp), 0);
  return 0;
}

}  // namespace

// [IBV-394, IBV-395, IBV-396, IBV-397]
TEST_CASE("only reliable connections exist") {
  End end;
  auto attr = basic(end);
  for (const auto type : {IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
                          IBV_QPT_XRC_RECV, IBV_QPT_DRIVER}) {
    attr.qp_type = type;
    CHECK_EQ(creation_error(end, attr), EOPNOTSUPP);
  }
  std::memcpy(&attr.qp_type, &kNone, sizeof kNone);
  CHECK_EQ(creation_error(end, attr), EOPNOTSUPP);
}

// [IBV-26, IBV-27, IBV-383, IBV-388, IBV-389, IBV-398, IBV-488]
TEST_CASE("sizes are checked, and the actual sizes are at least the requested ones") {
  End end;
  ibv_device_attr device{};
  REQUIRE_EQ(ibv_query_device(end.context, &device), 0);
  const auto most = static_cast<std::uint32_t>(device.max_qp_wr);
  const auto sges = static_cast<std::uint32_t>(device.max_sge);
  const std::array refused{ibv_qp_cap{.max_send_wr = most + 1}, ibv_qp_cap{.max_recv_wr = most + 1},
                           ibv_qp_cap{.max_send_sge = sges + 1},
                           ibv_qp_cap{.max_recv_sge = sges + 1},
                           ibv_qp_cap{.max_inline_data = 4097}};
  auto attr = basic(end);
  for (std::size_t row = 0; row < refused.size(); ++row) {
    CAPTURE(row);
    attr.cap = refused.at(row);
    CHECK_EQ(creation_error(end, attr), EINVAL);
  }
  attr.cap = {.max_send_wr = most};
  CHECK_EQ(creation_error(end, attr), 0);
  attr.send_cq = nullptr;
  CHECK_EQ(creation_error(end, attr), EINVAL);

  attr.send_cq = end.cq;
  attr.cap = {.max_send_wr = 0, .max_recv_wr = most, .max_recv_sge = sges, .max_inline_data = 4096};
  ibv_qp* qp = must(ibv_create_qp(end.pd, &attr));
  CHECK_GE(attr.cap.max_recv_wr, most);
  CHECK_GE(attr.cap.max_recv_sge, sges);
  CHECK_GE(attr.cap.max_inline_data, 4096);
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  REQUIRE_EQ(ibv_query_qp(qp, &now, IBV_QP_CAP, &init), 0);
  CHECK_EQ(std::memcmp(&now.cap, &attr.cap, sizeof attr.cap), 0);
  CHECK_EQ(std::memcmp(&init.cap, &attr.cap, sizeof attr.cap), 0);
  CHECK_EQ(init.send_cq, end.cq);
  CHECK_EQ(init.qp_type, IBV_QPT_RC);
  CHECK_EQ(ibv_destroy_qp(qp), 0);
}

// [IBV-382, IBV-390]
TEST_CASE("the handle has the values that programs read from it") {
  End end;
  CHECK_EQ(end.qp->context, end.context);
  CHECK_EQ(end.qp->qp_context, &end);
  CHECK_EQ(end.qp->pd, end.pd);
  CHECK_EQ(end.qp->send_cq, end.cq);
  CHECK_EQ(end.qp->recv_cq, end.cq);
  CHECK_EQ(end.qp->srq, nullptr);
  CHECK_EQ(end.qp->qp_type, IBV_QPT_RC);
  CHECK_EQ(end.qp->state, IBV_QPS_RESET);
  CHECK_NE(end.qp->qp_num, 0);
  CHECK_EQ(end.qp->qp_num >> 24, 0);
}

// [IBV-400]
TEST_CASE("objects of two contexts of a device may be combined") {
  End one;
  End other;
  auto attr = basic(one);
  attr.recv_cq = other.cq;
  CHECK_EQ(creation_error(one, attr), 0);
}

/// Returns the state that ibv_query_qp() reports if a queue pair is in `state`. For RESET, an RNIC
/// reports INIT, because its new queue pairs already accept receives.
ibv_qp_state as_told(ibv_qp_state state) { return state == IBV_QPS_RESET ? IBV_QPS_INIT : state; }

// [IBV-399, IBV-443, IBV-486, IBV-493]
TEST_CASE("a new queue pair is in RESET, and passes through the states") {
  End end;
  CHECK_EQ(end.qp->state, IBV_QPS_RESET);
  CHECK_EQ(end.state(), IBV_QPS_INIT);
  for (const auto state : {IBV_QPS_RTR, IBV_QPS_RTS}) CHECK_EQ(end.modify(state), EINVAL);
  ibv_qp_attr unknown{};
  std::memcpy(&unknown.qp_state, &kNone, sizeof kNone);
  CHECK_EQ(ibv_modify_qp(end.qp, &unknown, IBV_QP_STATE), EINVAL);
  CHECK_EQ(end.qp->state, IBV_QPS_RESET);
  const std::array states{IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET};
  for (const auto state : states) {
    CHECK_EQ(end.modify(state), 0);
    CHECK_EQ(end.state(), as_told(state));
    CHECK_EQ(end.qp->state, state);
  }
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  CHECK_EQ(end.modify(IBV_QPS_RTS), EINVAL);
  CHECK_EQ(end.modify(IBV_QPS_SQE), EINVAL);
}

TEST_CASE("a send queue cannot be drained, because no caller would wait for IBV_EVENT_SQ_DRAINED") {
  End end;
  for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    REQUIRE_EQ(end.modify(state), 0);
    CHECK_EQ(end.modify(IBV_QPS_SQD), EOPNOTSUPP);
    CHECK_EQ(end.state(), state);
  }
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  CHECK_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), EOPNOTSUPP);
  CHECK_EQ(end.state(), IBV_QPS_RTS);
}

// [IBV-33, IBV-34, IBV-451, IBV-452, IBV-465, IBV-467, IBV-468, IBV-478, IBV-482, IBV-485, IBV-487]
TEST_CASE("attributes are checked and can be read back") {
  End end;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 2;
  CHECK_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  REQUIRE_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
  attr.max_rd_atomic = 129;
  CHECK_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC), EINVAL);
  attr.max_rd_atomic = 7;
  attr.max_dest_rd_atomic = 9;
  attr.timeout = 14;
  attr.sq_psn = 0xFF000005;
  REQUIRE_EQ(ibv_modify_qp(end.qp, &attr,
                           IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_TIMEOUT |
                               IBV_QP_SQ_PSN),
             0);
  CHECK_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_CAP), EOPNOTSUPP);
  for (const int lacking : {int{IBV_QP_ALT_PATH}, int{IBV_QP_PATH_MIG_STATE}, 1 << 30}) {
    CHECK_EQ(ibv_modify_qp(end.qp, &attr, lacking), EINVAL);
  }
  const ibv_qp_attr now = query(end.qp);
  CHECK_EQ(now.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
  CHECK_EQ(now.max_rd_atomic, 7);
  CHECK_EQ(now.max_dest_rd_atomic, 9);
  CHECK_EQ(now.timeout, 14);
  CHECK_EQ(now.sq_psn, 5);
  CHECK_EQ(now.port_num, 1);
}

TEST_CASE("once connected, a query returns the attributes that the program has set") {
  SettledPair pair;
  const ibv_qp_attr now = query(pair.a.qp);
  CHECK_EQ(now.qp_state, IBV_QPS_RTS);
  CHECK_EQ(now.cur_qp_state, IBV_QPS_RTS);
  CHECK_EQ(now.dest_qp_num, pair.b.qp->qp_num);
  CHECK_EQ(now.max_dest_rd_atomic, 16);
  CHECK_EQ(now.max_rd_atomic, 16);
}

// [IBV-275, IBV-306, IBV-317, IBV-458]
TEST_CASE("in ERR all posted requests are flushed, and so are later ones") {
  End end;
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  REQUIRE_EQ(end.post_recv(1, 0, 8), 0);
  REQUIRE_EQ(end.post({.wr_id = 2, .opcode = IBV_WR_SEND}, 0, 8), 0);
  REQUIRE_EQ(end.modify(IBV_QPS_ERR), 0);
  std::array<ibv_wc, 2> wcs{next(end.cq), next(end.cq)};
  for (const ibv_wc& wc : wcs) {
    CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    CHECK_EQ(wc.qp_num, end.qp->qp_num);
    CHECK_EQ(wc.opcode, wc.wr_id == 1 ? IBV_WC_RECV : IBV_WC_SEND);
  }
  REQUIRE_EQ(end.post_recv(3, 0, 8), 0);
  CHECK_EQ(next(end.cq).wr_id, 3);
}

// With acknowledged completions, the peer stays in RTS until one of its requests fails; see
// acknowledged.cpp. [IBV-456]
TEST_CASE("the peer of a queue pair that moves to ERR or is destroyed moves to ERR as well") {
  if (is_acknowledged()) return;
  SettledPair pair;
  REQUIRE_EQ(pair.b.post_recv(1, 0, 8), 0);
  SUBCASE("ERR") { REQUIRE_EQ(pair.a.modify(IBV_QPS_ERR), 0); }
  SUBCASE("destroyed") { REQUIRE_EQ(ibv_destroy_qp(std::exchange(pair.a.qp, nullptr)), 0); }
  CHECK_EQ(next(pair.b.cq).status, IBV_WC_WR_FLUSH_ERR);
  wait_until([&] { return pair.b.state() == IBV_QPS_ERR; }, "the state remains");
  REQUIRE_EQ(pair.b.post_recv(2, 0, 8), 0);
  CHECK_EQ(next(pair.b.cq).wr_id, 2);
}

// [IBV-309, IBV-310]
TEST_CASE("flushed completions of a queue pair are dropped at RESET and at destruction") {
  End end;
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  REQUIRE_EQ(end.post_recv(1, 0, 8), 0);
  REQUIRE_EQ(end.modify(IBV_QPS_ERR), 0);
  SUBCASE("RESET") { REQUIRE_EQ(end.modify(IBV_QPS_RESET), 0); }
  SUBCASE("destroyed") { REQUIRE_EQ(ibv_destroy_qp(std::exchange(end.qp, nullptr)), 0); }
  CHECK(is_empty(end.cq));
}

// [IBV-307, IBV-309]
TEST_CASE("completions can be polled after the queue pair is destroyed") {
  Pair pair;
  REQUIRE_EQ(ibv_req_notify_cq(pair.b.cq, 0), 0);
  REQUIRE_EQ(pair.b.post_recv(7, 0, 8), 0);
  REQUIRE_EQ(pair.b.post_recv(8, 8, 8), 0);
  REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 8), 0);
  pair.b.take_event();
  REQUIRE_EQ(ibv_destroy_qp(std::exchange(pair.b.qp, nullptr)), 0);
  CHECK_EQ(success(pair.b.cq).wr_id, 7);
  CHECK(is_empty(pair.b.cq));
}

// [IBV-327, IBV-474, IBV-475]
TEST_CASE("a peer may do what both the queue pair and the region allow") {
  SettledPair pair;
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  REQUIRE_EQ(ibv_modify_qp(pair.b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  success(pair.a.cq);
  SUBCASE("a Write") {
    pair.a.write(0, "no");
    pair.b.write(0, "..");
    REQUIRE_EQ(pair.b.post_recv(1, 100, 8), 0);
    REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, 0, 2, 0), 0);
    CHECK_EQ(next(pair.b.cq).status, IBV_WC_WR_FLUSH_ERR);
    CHECK_EQ(pair.b.text(0, 2), "..");
  }
  SUBCASE("a Read") {
    attr.qp_access_flags = 0;
    REQUIRE_EQ(ibv_modify_qp(pair.b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
    REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
    CHECK_EQ(next(pair.a.cq).status, IBV_WC_REM_INV_REQ_ERR);
  }
  SUBCASE("an atomic") {
    REQUIRE_EQ(pair.a.post_add(pair.b, 64, 5, 8), 0);
    CHECK_EQ(next(pair.a.cq).status, IBV_WC_REM_INV_REQ_ERR);
  }
}

TEST_CASE(
    "Sends need no access rights, and neither does the Write with which a connection begins") {
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

// [IBV-404, IBV-407, IBV-410, IBV-626]
TEST_CASE("extended attributes that iWARP does not have are refused") {
  End end;
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = end.cq;
  attr.cap.max_send_wr = 1;
  attr.qp_type = IBV_QPT_RC;
  attr.pd = end.pd;
  const auto with = [&](unsigned mask, std::uint64_t operations, std::uint32_t flags) {
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | mask;
    attr.send_ops_flags = operations;
    attr.create_flags = flags;
  };
  SUBCASE("operations") { with(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, IBV_QP_EX_WITH_TSO, 0); }
  SUBCASE("operations of later versions") { with(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 1 << 11, 0); }
  SUBCASE("flags") { with(IBV_QP_INIT_ATTR_CREATE_FLAGS, 0, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB); }
  SUBCASE("hashes") { with(IBV_QP_INIT_ATTR_RX_HASH, 0, 0); }
  errno = 0;
  CHECK_EQ(error_of(ibv_create_qp_ex(end.context, &attr)), EOPNOTSUPP);
}
