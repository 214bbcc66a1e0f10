// SPDX-License-Identifier: Apache-2.0
// Tests that a queue pair does not notice that its peer departs, whether completions are
// acknowledged or not (IWARP_COMPLETIONS). ibv_modify_qp() connects the two queue pairs of one
// process. Runs with IWARP_AS=roce.
#include <string>
#include <utility>

#include "datagrams/datagrams.hpp"

namespace {

using namespace rdma_core_test;

constexpr int kUcToRtr = kToRtr & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
constexpr int kUcToRts = IBV_QP_STATE | IBV_QP_SQ_PSN;

struct Device {
  Context context = open_device();
  Pd pd{ibv_alloc_pd(context.get())};
};

/// A queue pair with its own completion queue.
struct ByHand : VerbsEnd {
  explicit ByHand(const Device& on, ibv_qp_type type = IBV_QPT_RC)
      : VerbsEnd({.type = type,
                  .cap = {16, 16, 2, 2, 0},
                  .signal_all = 0,
                  .context = on.context.get(),
                  .pd = on.pd.get()}) {}
  ~ByHand() { CHECK(destroy()); }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  void connect(const ByHand& peer) const {
    ibv_qp_attr attr = rc_attributes(context, peer.qp, kAllRights, 1);
    attr.timeout = timeout;
    attr.retry_cnt = attr.rnr_retry = 7;
    const bool is_uc = qp->qp_type == IBV_QPT_UC;
    for (const auto& [to, mask] : {std::pair{IBV_QPS_INIT, kToInit},
                                   {IBV_QPS_RTR, is_uc ? kUcToRtr : kToRtr},
                                   {IBV_QPS_RTS, is_uc ? kUcToRts : kToRts}}) {
      attr.qp_state = to;
      REQUIRE(ibv_modify_qp(qp, &attr, mask) == 0);
    }
  }
  int post(ibv_wr_opcode opcode, ibv_sge sge, const Buffer* to = nullptr) const {
    ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = opcode};
    wr.send_flags = IBV_SEND_SIGNALED;
    if (to != nullptr) wr.wr.rdma = {.remote_addr = to->address(), .rkey = to->mr->rkey};
    return post_send(qp, wr);
  }

  std::uint8_t timeout = 14;
};

ibv_sge with_wrong_key(ibv_sge sge) {
  sge.lkey ^= 0x3300;
  return sge;
}

/// Connects the peer's queue pair first, so that either end may send once both are in RTS.
void connect(const ByHand& own, const ByHand& peer) {
  peer.connect(own);
  own.connect(peer);
}

/// Returns when the library has handled everything that had happened to other queue pairs of the
/// device before this call: it handles connection events in order.
void settle(const Device& device) {
  const Buffer memory(device.pd.get(), 8);
  const ByHand own(device);
  const ByHand peer(device);
  connect(own, peer);
  REQUIRE(peer.receive(memory.sge()) == 0);
  REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
  REQUIRE(next(own.cq).status == IBV_WC_SUCCESS);
  REQUIRE(next(peer.cq).status == IBV_WC_SUCCESS);
}

// IBTA volume 1, section 9.9.2: only a queue pair's own errors move it to Error. [IBV-455, IBV-500]
TEST_CASE("the peer of an end that departs stays in RTS with its receives, whatever its timeout") {
  const Device device;
  const Buffer memory(device.pd.get(), 64, kAllRights);
  for (const auto type : {IBV_QPT_RC, IBV_QPT_UC}) {
    for (const int timeout : {14, 1, 0}) {
      for (const std::string how : {"destroyed", "ERR", "a local error", "a local error first"}) {
        CAPTURE(type);
        CAPTURE(timeout);
        CAPTURE(how);
        ByHand own(device, type);
        ByHand peer(device, type);
        own.timeout = peer.timeout = static_cast<std::uint8_t>(timeout);
        connect(own, peer);
        REQUIRE(peer.receive(memory.sge()) == 0);
        if (how != "a local error first") {
          REQUIRE(own.post(IBV_WR_RDMA_WRITE, memory.sge(8), &memory) == 0);
          REQUIRE(next(own.cq).status == IBV_WC_SUCCESS);
        }
        if (how == "destroyed") {
          REQUIRE(ibv_destroy_qp(std::exchange(own.qp, nullptr)) == 0);
        } else if (how == "ERR") {
          REQUIRE(move_to(own.qp, IBV_QPS_ERR) == 0);
        } else {
          REQUIRE(own.post(IBV_WR_SEND, with_wrong_key(memory.sge(8))) == 0);
          REQUIRE(next(own.cq).status == IBV_WC_LOC_PROT_ERR);
        }
        settle(device);
        CHECK(peer.state() == IBV_QPS_RTS);
        CHECK(is_empty(peer.cq));
      }
    }
  }
}

TEST_CASE("an end that moves to ERR while it is being connected does not move its peer to ERR") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const ByHand own(device);
    const ByHand peer(device);
    connect(own, peer);
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    REQUIRE(move_to(own.qp, IBV_QPS_ERR) == 0);
    settle(device);
    CHECK(peer.state() == IBV_QPS_RTS);
  }
}

}  // namespace
