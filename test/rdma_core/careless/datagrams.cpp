// SPDX-License-Identifier: Apache-2.0
#include "datagrams.hpp"

#include <cstdlib>

#include "ends.hpp"

using namespace careless;

namespace {

constexpr std::uint32_t kKey = 0x1234;
constexpr std::uint32_t kGrh = 40;
constexpr std::uint32_t kTooLong = 1 << 15;

/// Sends to itself.
struct Ud {
  Ud() {
    cq = ibv_create_cq(device(), 16, nullptr, nullptr, 0);
    memory = static_cast<char*>(
        mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mr = ibv_reg_mr(domain(), memory, kMemory, IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {.max_send_wr = 8,
                .max_recv_wr = 8,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    init.qp_type = IBV_QPT_UD;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = domain();
    init.send_ops_flags = IBV_QP_EX_WITH_SEND;
    qp = ibv_create_qp_ex(device(), &init);
    check(cq != nullptr && mr != nullptr && qp != nullptr, "an object cannot be made");
    bring_up();
    ibv_ah_attr way{};
    way.is_global = 1;
    way.port_num = 1;
    check(ibv_query_gid(device(), 1, 0, &way.grh.dgid) == 0, "ibv_query_gid");
    home = ibv_create_ah(domain(), &way);
    check(home != nullptr, "ibv_create_ah");
  }
  void modify(ibv_qp_state state, int mask = 0) const {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = 1;
    attr.qkey = kKey;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask) == 0, "ibv_modify_qp");
  }
  void bring_up() const {
    modify(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    modify(IBV_QPS_RTR);
    modify(IBV_QPS_RTS, IBV_QP_SQ_PSN);
  }
  ibv_sge sge(std::size_t at, std::uint32_t length) const {
    return {
        .addr = reinterpret_cast<std::uint64_t>(memory) + at, .length = length, .lkey = mr->lkey};
  }

  ibv_cq* cq = nullptr;
  char* memory = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
  ibv_ah* home = nullptr;
};

CARELESS_INLINE void send(const Ud& ud, ibv_sge sge) {
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {.ah = ud.home, .remote_qpn = ud.qp->qp_num, .remote_qkey = kKey};
  ibv_send_wr* bad = nullptr;
  check(ibv_post_send(ud.qp, &wr, &bad) == 0, "ibv_post_send");
}

CARELESS_INLINE void receive(const Ud& ud, ibv_sge sge) {
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  check(ibv_post_recv(ud.qp, &wr, &bad) == 0, "ibv_post_recv");
}

CARELESS_INLINE void expect(const Ud& ud, ibv_wc_status status) {
  check(poll(ud.cq).status == status, "another status than expected");
}

}  // namespace

extern "C" {

void datagram_changed() {
  const Ud ud;
  send(ud, ud.sge(0, 64));
  ud.memory[5] = 'x';
  poll(ud.cq);
}

void datagram_built_changed() {
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

void datagram_status_ignored() {
  const Ud ud;
  send(ud, ud.sge(0, kTooLong));
  expect(ud, IBV_WC_LOC_LEN_ERR);
  send(ud, ud.sge(0, 64));
}

void datagram_deregistered_while_sent() {
  const Ud ud;
  send(ud, ud.sge(0, 64));
  ibv_dereg_mr(ud.mr);
}

void datagram_deregistered_while_received() {
  const Ud ud;
  receive(ud, ud.sge(0, kGrh + 64));
  ibv_dereg_mr(ud.mr);
}

void datagram_freed() {
  const Ud ud;
  constexpr std::size_t kSize = 4096;
  void* const block = std::malloc(kSize);
  check(ibv_reg_mr(domain(), block, kSize, IBV_ACCESS_LOCAL_WRITE) != nullptr, "ibv_reg_mr");
  std::free(block);
}

void datagram_destroyed_in_use() {
  const Ud ud;
  send(ud, ud.sge(0, 64));
  ibv_destroy_qp(ud.qp);
}

void datagrams_proper() {
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

// What was posted before a reset, or failed before the queue pair was in RTS again, is over.
void datagrams_proper_again() {
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

}  // extern "C"
