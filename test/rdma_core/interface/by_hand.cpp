// SPDX-License-Identifier: Apache-2.0
// Tests two queue pairs of one process that are connected with ibv_modify_qp() and without rdma_cm,
// and how the state of one affects the state of the other. Runs with IWARP_AS=roce.
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "datagrams/datagrams.hpp"

namespace {

using namespace rdma_core_test;

constexpr int kWrId = 1;
constexpr int kPeersWrId = 7;
constexpr int kUcToRtr = kToRtr & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
constexpr int kUcToRts = IBV_QP_STATE | IBV_QP_SQ_PSN;

struct Device {
  Context context = open_device();
  Pd pd{ibv_alloc_pd(context.get())};
  ibv_ah_attr home = way_home(context.get());
};

/// A queue pair with its own completion queue.
struct ByHand : VerbsEnd {
  explicit ByHand(const Device& on, ibv_qp_type type = IBV_QPT_RC, bool extended = false)
      : VerbsEnd({.type = type,
                  .cap = {16, 16, 2, 2, 0},
                  .signal_all = 0,
                  .extended = extended,
                  .context = on.context.get(),
                  .pd = on.pd.get()}),
        device(on) {}
  ~ByHand() { CHECK(destroy()); }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;
  /// Returns the attributes for the transition to state `to`. `peer` is the peer's queue pair
  /// number.
  ibv_qp_attr attributes(ibv_qp_state to, std::uint32_t peer = 0) const {
    ibv_qp_attr attr{};
    attr.qp_state = to;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.timeout = timeout;
    attr.retry_cnt = 7;
    attr.rnr_retry = rnr_retry;
    attr.ah_attr = device.home;
    attr.ah_attr.grh.hop_limit = 64;
    return attr;
  }
  int modify(ibv_qp_attr attr, int mask) const { return ibv_modify_qp(qp, &attr, mask); }
  void go(ibv_qp_state to, int mask, std::uint32_t peer = 0) const {
    REQUIRE(modify(attributes(to, peer), mask) == 0);
  }
  void connect(std::uint32_t peer) const {
    go(IBV_QPS_INIT, kToInit);
    const bool is_uc = qp->qp_type == IBV_QPT_UC;
    go(IBV_QPS_RTR, is_uc ? kUcToRtr : kToRtr, peer);
    go(IBV_QPS_RTS, is_uc ? kUcToRts : kToRts);
  }
  int post(ibv_wr_opcode opcode, ibv_sge sge, std::uint64_t to = 0, std::uint32_t rkey = 0) const {
    ibv_send_wr wr{.wr_id = kWrId, .sg_list = &sge, .num_sge = 1, .opcode = opcode};
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = to, .rkey = rkey};
    return post_send(qp, wr);
  }
  int receive(ibv_sge sge) const { return VerbsEnd::receive(sge, kPeersWrId); }

  const Device& device;
  std::uint8_t timeout = 14;
  std::uint8_t rnr_retry = 7;
};

ibv_sge with_wrong_key(ibv_sge sge) {
  sge.lkey ^= 0x3300;
  return sge;
}

/// Connects the peer's queue pair first, so that either end may send once both are in RTS.
void connect(const ByHand& own, const ByHand& peer) {
  peer.connect(own.qp->qp_num);
  own.connect(peer.qp->qp_num);
}

// [IBV-308, IBV-313, IBV-320, IBV-328, IBV-444, IBV-492]
TEST_CASE(
    "when an error can be polled, its queue pair and that of the peer that caused it are in ERR") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);  // no remote write access
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const ByHand own(device);
    const ByHand peer(device);
    connect(own, peer);
    if (round % 2 == 0) {
      REQUIRE(own.post(IBV_WR_RDMA_WRITE, memory.sge(8), memory.address(), memory.mr->rkey) == 0);
      REQUIRE(next(own.cq).status == IBV_WC_REM_ACCESS_ERR);
    } else {
      REQUIRE(peer.receive(memory.sge(4)) == 0);
      REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
      REQUIRE(next(peer.cq).status == IBV_WC_LOC_LEN_ERR);
      CHECK(peer.state() == IBV_QPS_ERR);
      REQUIRE(next(own.cq).status == IBV_WC_REM_INV_REQ_ERR);
    }
    CHECK(own.state() == IBV_QPS_ERR);
    CHECK(peer.state() == IBV_QPS_ERR);
    // A queue pair in ERR cannot go to RTS directly.
    CHECK(own.modify(own.attributes(IBV_QPS_RTS), IBV_QP_STATE) == EINVAL);
  }
}

// [IBV-315, IBV-322, IBV-611]
TEST_CASE("a request with a wrong L_Key fails, but its peer keeps its state and its receives") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  const ByHand own(device);
  const ByHand peer(device);
  connect(own, peer);
  REQUIRE(peer.receive(memory.sge()) == 0);
  REQUIRE(own.post(IBV_WR_SEND, with_wrong_key(memory.sge(8))) == 0);
  REQUIRE(next(own.cq).status == IBV_WC_LOC_PROT_ERR);
  CHECK(own.state() == IBV_QPS_ERR);
  CHECK(peer.state() == IBV_QPS_RTS);
  // The peer learns of the failure only from its own requests, which are no longer answered.
  REQUIRE(peer.post(IBV_WR_SEND, memory.sge(8)) == 0);
  const ibv_wc first = next(peer.cq);
  CHECK(first.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(first.wr_id == kWrId);
  CHECK(peer.state() == IBV_QPS_ERR);
  const ibv_wc second = next(peer.cq);
  CHECK(second.status == IBV_WC_WR_FLUSH_ERR);
  CHECK(second.wr_id == kPeersWrId);
  CHECK_FALSE(is_readable(device.context->async_fd));
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
          REQUIRE(own.post(IBV_WR_RDMA_WRITE, memory.sge(8), memory.address(), memory.mr->rkey) ==
                  0);
          REQUIRE(next(own.cq).status == IBV_WC_SUCCESS);
        }
        if (how == "destroyed") {
          REQUIRE(ibv_destroy_qp(std::exchange(own.qp, nullptr)) == 0);
        } else if (how == "ERR") {
          own.go(IBV_QPS_ERR, IBV_QP_STATE);
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
    own.go(IBV_QPS_ERR, IBV_QP_STATE);
    settle(device);
    CHECK(peer.state() == IBV_QPS_RTS);
  }
}

// IBTA volume 1, section 10.3.1: an immediate error. [IBV-306, IBV-457, IBV-574]
TEST_CASE("RESET refuses receives, and all states before RTS refuse requests") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  const auto check_posting = [&](const ByHand& end, int receives, int requests) {
    CAPTURE(end.state());
    CHECK(end.receive(memory.sge()) == receives);
    CHECK(end.post(IBV_WR_SEND, memory.sge(8)) == requests);
    ibv_qp_ex* const builder = ibv_qp_to_qp_ex(end.qp);
    REQUIRE(builder != nullptr);
    ibv_wr_start(builder);
    ibv_wr_send(builder);
    ibv_wr_set_sge(builder, memory.mr->lkey, memory.address(), 8);
    CHECK(ibv_wr_complete(builder) == requests);
  };
  for (const auto type : {IBV_QPT_RC, IBV_QPT_UC}) {
    const ByHand end(device, type, true);
    const ByHand idle(device, type);
    const bool is_uc = type == IBV_QPT_UC;
    check_posting(end, EINVAL, EINVAL);
    end.go(IBV_QPS_INIT, kToInit);
    check_posting(end, 0, EINVAL);
    end.go(IBV_QPS_RTR, is_uc ? kUcToRtr : kToRtr, idle.qp->qp_num);
    check_posting(end, 0, EINVAL);
    end.go(IBV_QPS_RTS, is_uc ? kUcToRts : kToRts);
    check_posting(end, 0, 0);
    end.go(IBV_QPS_ERR, IBV_QP_STATE);
    check_posting(end, 0, 0);  // They are flushed.
    end.go(IBV_QPS_RESET, IBV_QP_STATE);
    check_posting(end, EINVAL, EINVAL);
  }
  const ByHand ud(device, IBV_QPT_UD);
  CHECK(ud.receive(memory.sge()) == EINVAL);
  ud.go(IBV_QPS_INIT, kUdToInit);
  CHECK(ud.receive(memory.sge()) == 0);
}

// IBTA volume 1, section 10.3.1.6 [IBV-447, IBV-461]
TEST_CASE("a failed request of UC stops only its send queue, until the program moves it to RTS") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  const ByHand own(device, IBV_QPT_UC);
  const ByHand peer(device, IBV_QPT_UC);
  connect(own, peer);
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    REQUIRE(own.receive(memory.sge()) == 0);
    REQUIRE(peer.receive(memory.sge()) == 0);
    REQUIRE(own.post(IBV_WR_SEND, with_wrong_key(memory.sge(8))) == 0);
    REQUIRE(next(own.cq).status == IBV_WC_LOC_PROT_ERR);
    CHECK(own.state() == IBV_QPS_SQE);
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    CHECK(next(own.cq).status == IBV_WC_WR_FLUSH_ERR);
    // The receive side goes on, and the peer notices nothing.
    REQUIRE(peer.post(IBV_WR_SEND, memory.sge(8)) == 0);
    CHECK(next(own.cq).status == IBV_WC_SUCCESS);
    CHECK(next(peer.cq).status == IBV_WC_SUCCESS);
    CHECK(peer.state() == IBV_QPS_RTS);
    own.go(IBV_QPS_RTS, IBV_QP_STATE);
    CHECK(own.state() == IBV_QPS_RTS);
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    CHECK(next(own.cq).status == IBV_WC_SUCCESS);
    CHECK(next(peer.cq).status == IBV_WC_SUCCESS);
  }
  REQUIRE(own.post(IBV_WR_SEND, with_wrong_key(memory.sge(8))) == 0);
  REQUIRE(next(own.cq).status == IBV_WC_LOC_PROT_ERR);
  own.go(IBV_QPS_RESET, IBV_QP_STATE);
  CHECK(own.state() == IBV_QPS_RESET);
}

// [IBV-504]
TEST_CASE("UC has no requests that need a response") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);
  const ByHand own(device, IBV_QPT_UC);
  const ByHand peer(device, IBV_QPT_UC);
  connect(own, peer);
  for (const auto opcode :
       {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    CHECK(own.post(opcode, memory.sge(8)) == EINVAL);
  }
  ibv_qp_init_attr_ex init{.send_cq = own.cq,
                           .recv_cq = own.cq,
                           .cap = {8, 8, 2, 2, 64},
                           .qp_type = IBV_QPT_UC,
                           .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                           .pd = device.pd.get(),
                           .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ};
  errno = 0;
  CHECK(error_of(ibv_create_qp_ex(device.context.get(), &init)) == EOPNOTSUPP);
}

// IBTA volume 1, section 11.6.3: an event reports an error that no completion reports. [IBV-313,
// IBV-316, IBV-319, IBV-321, IBV-323, IBV-325, IBV-601, IBV-612]
TEST_CASE("errors of a receive and a missing receive raise no event at the responder") {
  const Device device;
  const Buffer memory(device.pd.get(), 64);  // no remote write access
  ByHand own(device);
  ByHand peer(device);
  own.rnr_retry = peer.rnr_retry = 0;
  connect(own, peer);
  SUBCASE("a receive with a wrong L_Key") {
    REQUIRE(peer.receive(with_wrong_key(memory.sge())) == 0);
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    CHECK(next(peer.cq).status == IBV_WC_LOC_PROT_ERR);
    CHECK(next(own.cq).status == IBV_WC_REM_OP_ERR);
    CHECK(peer.state() == IBV_QPS_ERR);
  }
  SUBCASE("a receive that is too short") {
    REQUIRE(peer.receive(memory.sge(4)) == 0);
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    CHECK(next(peer.cq).status == IBV_WC_LOC_LEN_ERR);
    CHECK(next(own.cq).status == IBV_WC_REM_INV_REQ_ERR);
  }
  SUBCASE("no receive: an error only of the requester") {
    REQUIRE(own.post(IBV_WR_SEND, memory.sge(8)) == 0);
    CHECK(next(own.cq).status == IBV_WC_RNR_RETRY_EXC_ERR);
    CHECK(own.state() == IBV_QPS_ERR);
    settle(device);
    CHECK(peer.state() == IBV_QPS_RTS);
    CHECK(peer.receive(memory.sge()) == 0);
    CHECK(is_empty(peer.cq));
  }
  // The next event is that of a later refused Write.
  const ByHand later(device);
  const ByHand its_peer(device);
  connect(later, its_peer);
  REQUIRE(later.post(IBV_WR_RDMA_WRITE, memory.sge(8), memory.address(), memory.mr->rkey) == 0);
  REQUIRE(next(later.cq).status == IBV_WC_REM_ACCESS_ERR);
  const ibv_async_event event = its_peer.take_async_event();
  CHECK(event.event_type == IBV_EVENT_QP_ACCESS_ERR);
  CHECK(event.element.qp == its_peer.qp);
}

/// A transition that must be rejected and must not change any attribute.
struct Refused {
  const char* what;
  ibv_qp_state to;
  int mask;
};

void check_refused(const ByHand& of, std::uint32_t peer, std::initializer_list<Refused> list) {
  const ibv_qp_attr before = query(of.qp);
  for (const Refused& refused : list) {
    CAPTURE(refused.what);
    CHECK(of.modify(of.attributes(refused.to, peer), refused.mask) == EINVAL);
    const ibv_qp_attr after = query(of.qp);
    CHECK(std::memcmp(&before, &after, sizeof before) == 0);
  }
}

// [IBV-399, IBV-427, IBV-428, IBV-430, IBV-433]
TEST_CASE("each transition requires every attribute that ibv_modify_qp(3) lists") {
  const Device device;
  const ByHand own(device);
  const ByHand idle(device);
  const auto number = idle.qp->qp_num;
  CHECK(own.qp->state == IBV_QPS_RESET);
  CHECK(own.state() == IBV_QPS_RESET);
  for (const auto& [to, mask] :
       {std::pair{IBV_QPS_INIT, kToInit}, {IBV_QPS_RTR, kToRtr}, {IBV_QPS_RTS, kToRts}}) {
    check_refused(own, number, {{"only the state", to, IBV_QP_STATE}});
    for (int bit = 1; bit <= mask; bit <<= 1) {
      CAPTURE(bit);
      if ((mask & bit) == 0 || bit == IBV_QP_STATE) continue;
      check_refused(own, number, {{"one attribute missing", to, mask & ~bit}});
    }
    own.go(to, mask, number);
    CHECK(own.state() == to);
  }
}

// [IBV-427, IBV-429, IBV-436, IBV-437, IBV-438, IBV-439, IBV-440, IBV-441, IBV-442, IBV-443,
// IBV-444, IBV-445, IBV-446, IBV-450, IBV-451]
TEST_CASE("a transition accepts its required and optional attributes, and no others") {
  const Device device;
  const ByHand rc(device);
  const ByHand uc(device, IBV_QPT_UC);
  const ByHand ud(device, IBV_QPT_UD);
  const ByHand idle(device);  // `idle` is not brought up, so it cannot connect during the test.
  const auto peer = idle.qp->qp_num;

  check_refused(rc, peer,
                {{"from RESET to ERR", IBV_QPS_ERR, IBV_QP_STATE},
                 {"from RESET to RTR", IBV_QPS_RTR, kToRtr},
                 {"something in RESET", IBV_QPS_RESET, IBV_QP_ACCESS_FLAGS},
                 {"a timeout in INIT", IBV_QPS_INIT, kToInit | IBV_QP_TIMEOUT},
                 {"a Q_Key of RC", IBV_QPS_INIT, kToInit | IBV_QP_QKEY},
                 {"no rights", IBV_QPS_INIT, kToInit & ~IBV_QP_ACCESS_FLAGS}});
  check_refused(ud, 0,
                {{"no Q_Key", IBV_QPS_INIT, kUdToInit & ~IBV_QP_QKEY},
                 {"rights of UD", IBV_QPS_INIT, kUdToInit | IBV_QP_ACCESS_FLAGS},
                 {"from RESET to ERR", IBV_QPS_ERR, IBV_QP_STATE}});
  rc.go(IBV_QPS_INIT, kToInit);
  uc.go(IBV_QPS_INIT, kToInit);
  ud.go(IBV_QPS_INIT, kUdToInit);
  CHECK(rc.modify(rc.attributes(IBV_QPS_INIT), IBV_QP_ACCESS_FLAGS) == 0);
  check_refused(rc, peer,
                {{"from INIT to RTS", IBV_QPS_RTS, kToRts},
                 {"a PSN of ours in RTR", IBV_QPS_RTR, kToRtr | IBV_QP_SQ_PSN},
                 {"a state in INIT", IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_CUR_STATE},
                 {"something in ERR", IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS}});
  check_refused(uc, peer, {{"Reads of UC", IBV_QPS_RTR, kToRtr}});
  check_refused(ud, 0,
                {{"a peer of UD", IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV},
                 {"the number of one", IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_DEST_QPN},
                 {"a PSN of ours in RTR", IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_SQ_PSN}});
  rc.go(IBV_QPS_RTR, kToRtr | IBV_QP_ACCESS_FLAGS, peer);
  uc.go(IBV_QPS_RTR, kUcToRtr | IBV_QP_ACCESS_FLAGS, peer);
  ud.go(IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_QKEY);
  check_refused(rc, peer,
                {{"once more to RTR", IBV_QPS_RTR, kToRtr},
                 {"a path in RTS", IBV_QPS_RTS, kToRts | IBV_QP_AV}});
  check_refused(uc, peer, {{"retries of UC", IBV_QPS_RTS, kToRts}});
  check_refused(ud, 0, {{"retries of UD", IBV_QPS_RTS, kToRts}});
  uc.go(IBV_QPS_RTS, kUcToRts);
  ud.go(IBV_QPS_RTS, kUcToRts);
  ibv_qp_attr said = rc.attributes(IBV_QPS_RTS);
  said.cur_qp_state = IBV_QPS_RTR;
  REQUIRE(rc.modify(said, kToRts | IBV_QP_CUR_STATE) == 0);
  const std::initializer_list<Refused> in_rts{
      {"a path MTU", IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_PATH_MTU},
      {"a timeout", IBV_QPS_RTS, IBV_QP_TIMEOUT},
      {"back to INIT", IBV_QPS_INIT, kToInit},
      {"a state that it is not in", IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_CUR_STATE}};
  check_refused(rc, peer, in_rts);
  check_refused(uc, peer, in_rts);
  check_refused(ud, 0, in_rts);
  CHECK(rc.modify(rc.attributes(IBV_QPS_RTS), IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER) == 0);
  CHECK(uc.modify(uc.attributes(IBV_QPS_RTS), IBV_QP_ACCESS_FLAGS) == 0);
  CHECK(ud.modify(ud.attributes(IBV_QPS_RTS), IBV_QP_QKEY) == 0);
  for (const ByHand* one : {&rc, &uc, &ud}) {
    one->go(IBV_QPS_ERR, IBV_QP_STATE);
    CHECK(one->state() == IBV_QPS_ERR);
    one->go(IBV_QPS_RESET, IBV_QP_STATE);
    CHECK(one->state() == IBV_QPS_RESET);
  }
}

}  // namespace
