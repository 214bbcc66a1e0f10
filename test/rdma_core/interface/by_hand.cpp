// SPDX-License-Identifier: Apache-2.0
// IWARP_AS=roce: two queue pairs of one process that are brought up by ibv_modify_qp() alone, and
// what their states say of each other.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

const int kSet = ::setenv("IWARP_AS", "roce", 1);
constexpr int kWrId = 1;
constexpr int kPeersWrId = 7;

constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kToRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

int index_of_ipv4(ibv_context* context) {
  for (int index = 0;; ++index) {
    ibv_gid gid{};
    REQUIRE(ibv_query_gid(context, 1, index, &gid) == 0);
    constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    if (std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0) return index;
  }
}

struct Device {
  Context context = open_device();
  Pd pd{ibv_alloc_pd(context.get())};
  int gid_index = index_of_ipv4(context.get());
};

/// A queue pair with a completion queue of its own.
struct ByHand {
  explicit ByHand(const Device& on, ibv_qp_type type = IBV_QPT_RC)
      : device(on), cq(ibv_create_cq(on.context.get(), 64, nullptr, nullptr, 0)) {
    ibv_qp_init_attr init{
        .send_cq = cq.get(), .recv_cq = cq.get(), .cap = {16, 16, 2, 2, 0}, .qp_type = type};
    qp.reset(ibv_create_qp(on.pd.get(), &init));
    REQUIRE(qp);
  }
  /// What a step to `to` is given, with a peer of this number.
  ibv_qp_attr attributes(ibv_qp_state to, std::uint32_t peer = 0) const {
    ibv_qp_attr attr{};
    attr.qp_state = to;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(device.gid_index);
    attr.ah_attr.grh.hop_limit = 64;
    REQUIRE(ibv_query_gid(device.context.get(), 1, device.gid_index, &attr.ah_attr.grh.dgid) == 0);
    return attr;
  }
  int modify(ibv_qp_attr attr, int mask) const { return ibv_modify_qp(qp.get(), &attr, mask); }
  void go(ibv_qp_state to, int mask, std::uint32_t peer = 0) const {
    REQUIRE(modify(attributes(to, peer), mask) == 0);
  }
  void connect(std::uint32_t peer) const {
    go(IBV_QPS_INIT, kToInit);
    go(IBV_QPS_RTR, kToRtr, peer);
    go(IBV_QPS_RTS, kToRts);
  }
  ibv_qp_attr query() const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    REQUIRE(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE, &init) == 0);
    return attr;
  }
  ibv_qp_state state() const { return query().qp_state; }
  int post(ibv_wr_opcode opcode, ibv_sge sge, std::uint64_t to = 0, std::uint32_t rkey = 0) const {
    ibv_send_wr wr{.wr_id = kWrId, .sg_list = &sge, .num_sge = 1, .opcode = opcode};
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = to, .rkey = rkey};
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp.get(), &wr, &bad);
  }
  int receive(ibv_sge sge) const {
    ibv_recv_wr wr{.wr_id = kPeersWrId, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp.get(), &wr, &bad);
  }

  const Device& device;
  Cq cq;
  Qp qp;
};

/// The peer may send first: it is brought up first.
void connect(const ByHand& own, const ByHand& peer) {
  peer.connect(own.qp->qp_num);
  own.connect(peer.qp->qp_num);
}

TEST_CASE("an error that can be polled says ERR of its queue pair, and of the peer that found it") {
  REQUIRE(kSet == 0);
  const Device device;
  const Buffer memory(device.pd.get(), 64);  // nobody may write to it
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const ByHand own(device);
    const ByHand peer(device);
    connect(own, peer);
    REQUIRE(own.post(IBV_WR_RDMA_WRITE, memory.sge(8), memory.address(), memory.mr->rkey) == 0);
    REQUIRE(End::next(own.cq).status == IBV_WC_REM_ACCESS_ERR);
    CHECK(own.state() == IBV_QPS_ERR);
    CHECK(peer.state() == IBV_QPS_ERR);
  }
}

TEST_CASE("a receive that cannot take its message says ERR as soon as it can be polled") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const ByHand own(device);
    const ByHand peer(device);
    connect(own, peer);
    REQUIRE(peer.receive(memory.sge(4)) == 0);
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    REQUIRE(End::next(peer.cq).status == IBV_WC_LOC_LEN_ERR);
    CHECK(peer.state() == IBV_QPS_ERR);
    REQUIRE(End::next(own.cq).status == IBV_WC_REM_INV_REQ_ERR);
    CHECK(own.state() == IBV_QPS_ERR);
  }
}

TEST_CASE("a request with a wrong L_Key fails alone: its peer keeps its state and its receives") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  const ByHand own(device);
  const ByHand peer(device);
  connect(own, peer);
  REQUIRE(peer.receive(memory.sge()) == 0);
  ibv_sge wrong = memory.sge(8);
  wrong.lkey ^= 0x3300;
  REQUIRE(own.post(IBV_WR_SEND, wrong) == 0);
  REQUIRE(End::next(own.cq).status == IBV_WC_LOC_PROT_ERR);
  CHECK(own.state() == IBV_QPS_ERR);
  CHECK(peer.state() == IBV_QPS_RTS);
  // Nobody answers the peer any more, which is all that it is told.
  REQUIRE(peer.post(IBV_WR_SEND, memory.sge(8)) == 0);
  const ibv_wc first = End::next(peer.cq);
  CHECK(first.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(first.wr_id == kWrId);
  CHECK(peer.state() == IBV_QPS_ERR);
  const ibv_wc second = End::next(peer.cq);
  CHECK(second.status == IBV_WC_WR_FLUSH_ERR);
  CHECK(second.wr_id == kPeersWrId);
  CHECK_FALSE(is_readable(device.context->async_fd));
}

}  // namespace
