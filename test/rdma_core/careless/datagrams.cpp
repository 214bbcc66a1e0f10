// SPDX-License-Identifier: Apache-2.0
// Careless programs with UD queue pairs, and correct ones that careful mode must not report.
#include <cstdlib>

#include "ends.hpp"
#include "programs.hpp"

using namespace careless;

namespace {

using rdma_core_test::kGrh;
using rdma_core_test::kKey;

constexpr std::uint32_t kTooLong = 1 << 15;

/// A UD queue pair that sends datagrams to itself.
struct Ud : End {
  Ud() : End(small({.type = IBV_QPT_UD, .extended = true})) { bring_up(); }
  void modify(ibv_qp_state state) const {
    check(rdma_core_test::move_to(qp, state) == 0, "ibv_modify_qp");
  }
  ibv_ah* home = way_home();
};

CARELESS_INLINE void send(const Ud& ud, ibv_sge sge) {
  ibv_send_wr wr = rdma_core_test::datagram(sge, ud.home, ud.qp->qp_num);
  ibv_send_wr* bad = nullptr;
  check(ibv_post_send(ud.qp, &wr, &bad) == 0, "ibv_post_send");
}

CARELESS_INLINE void expect(const Ud& ud, ibv_wc_status status) {
  check(poll(ud.cq).status == status, "another status than expected");
}

}  // namespace

CARELESS(datagram_changed, "send-changed") {
  const Ud ud;
  send(ud, ud.sge(0, 64));
  ud.memory[5] = 'x';
  poll(ud.cq);
}

CARELESS(datagram_built_changed, "send-changed") {
  const Ud ud;
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(ud.qp);
  ibv_wr_start(builder);
  builder->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(builder);
  ibv_wr_set_sge(builder, ud.mr->lkey, reinterpret_cast<std::uint64_t>(ud.memory), 64);
  ibv_wr_set_ud_addr(builder, ud.home, ud.qp->qp_num, kKey);
  ibv_wr_complete(builder);
  ud.memory[5] = 'x';
  poll(ud.cq);
}

CARELESS(datagram_status_ignored, "status-ignored") {
  const Ud ud;
  send(ud, ud.sge(0, kTooLong));
  expect(ud, IBV_WC_LOC_LEN_ERR);
  send(ud, ud.sge(0, 64));
}

CARELESS(datagram_deregistered_while_sent, "deregistered-in-use") {
  const Ud ud;
  send(ud, ud.sge(0, 64));
  ibv_dereg_mr(ud.mr);
}

CARELESS(datagram_deregistered_while_received, "deregistered-in-use") {
  const Ud ud;
  receive(ud, ud.sge(0, kGrh + 64));
  ibv_dereg_mr(ud.mr);
}

CARELESS(datagram_freed, "freed-while-registered") {
  const Ud ud;
  constexpr std::size_t kSize = 4096;
  void* const block = std::malloc(kSize);
  check(ibv_reg_mr(domain(), block, kSize, IBV_ACCESS_LOCAL_WRITE) != nullptr, "ibv_reg_mr");
  std::free(block);
}

CARELESS(datagram_destroyed_in_use, "destroyed-in-use") {
  const Ud ud;
  send(ud, ud.sge(0, 64));
  ibv_destroy_qp(ud.qp);
}

CARELESS(datagrams_proper, kCorrect) {
  const Ud ud;
  for (int round = 0; round < 50; ++round) {
    receive(ud, ud.sge(4096, kGrh + 64));
    send(ud, ud.sge(0, 64));
    expect(ud, IBV_WC_SUCCESS);
    expect(ud, IBV_WC_SUCCESS);
    std::memset(ud.memory, round, 8192);
  }
  ibv_destroy_qp(ud.qp);
  ibv_destroy_ah(ud.home);
  ibv_dereg_mr(ud.mr);
  munmap(ud.memory, kMemory);
  ibv_destroy_cq(ud.cq);
}

// After a reset of the queue pair, none of its earlier requests is outstanding. After the
// transition from SQE to RTS, the requests that failed in SQE are not outstanding.
CARELESS(datagrams_proper_again, kCorrect) {
  const Ud ud;
  for (int round = 0; round < 3; ++round) {
    send(ud, ud.sge(0, kTooLong));
    send(ud, ud.sge(0, 64));
    expect(ud, IBV_WC_LOC_LEN_ERR);
    ud.modify(IBV_QPS_RTS);
    send(ud, ud.sge(0, 64));
    expect(ud, IBV_WC_WR_FLUSH_ERR);
    expect(ud, IBV_WC_SUCCESS);
    for (std::size_t i = 0; i < 7; ++i) receive(ud, ud.sge(4096 + i * 512, kGrh + 64));
    send(ud, ud.sge(0, kTooLong));
    ud.modify(IBV_QPS_RESET);
    ibv_wc wc{};
    while (ibv_poll_cq(ud.cq, 1, &wc) != 0) {
    }
    std::memset(ud.memory, round, kMemory);
    ud.bring_up();
  }
  send(ud, ud.sge(0, 64));
  expect(ud, IBV_WC_SUCCESS);
}
