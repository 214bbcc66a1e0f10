// SPDX-License-Identifier: Apache-2.0
// A queue pair of datagrams, as RoCE, which sends numbers and receives them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "rules.hpp"
#include "support.hpp"

namespace faults {

using namespace data;

using Number = std::uint64_t;
using Numbers = std::vector<Number>;

inline constexpr std::uint32_t kKey = 0x1234;
inline constexpr std::size_t kGrh = 40;
inline constexpr std::size_t kSlot = kGrh + sizeof(Number);
inline constexpr std::size_t kReceives = 128;

/// A queue pair that is ready for everything, and its own device, queues and memory.
struct Ud {
  Ud()
      : context(open_device()),
        pd(must(ibv_alloc_pd(context))),
        sent(must(ibv_create_cq(context, 64, nullptr, nullptr, 0))),
        received(must(ibv_create_cq(context, kReceives, nullptr, nullptr, 0))),
        memory(kSlot * kReceives),
        mr(must(ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE))) {
    ibv_qp_init_attr_ex init{.send_cq = sent,
                             .recv_cq = received,
                             .cap = {16, kReceives, 1, 1, sizeof(Number)},
                             .qp_type = IBV_QPT_UD,
                             .sq_sig_all = 1,
                             .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                             .pd = pd,
                             .send_ops_flags = IBV_QP_EX_WITH_SEND};
    qp = must(ibv_create_qp_ex(context, &init));
    ordinal = ++made;
    bring_up();
    ibv_ah_attr here{.is_global = 1, .port_num = 1};
    REQUIRE_EQ(ibv_query_gid(context, 1, 0, &here.grh.dgid), 0);
    home = must(ibv_create_ah(pd, &here));
  }
  ~Ud() {
    end();
    CHECK_EQ(ibv_destroy_ah(home), 0);
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(ibv_destroy_cq(sent), 0);
    CHECK_EQ(ibv_destroy_cq(received), 0);
    CHECK_EQ(ibv_dealloc_pd(pd), 0);
    CHECK_EQ(ibv_close_device(context), 0);
  }
  Ud(const Ud&) = delete;
  Ud& operator=(const Ud&) = delete;
  void end() {
    if (ibv_qp* const ending = std::exchange(qp, nullptr)) CHECK_EQ(ibv_destroy_qp(ending), 0);
  }
  void bring_up() const {
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
    REQUIRE_EQ(
        ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    attr.qp_state = IBV_QPS_RTR;
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
    to_rts();
  }
  ibv_qp_state state() const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    REQUIRE_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
  }
  void to_rts() const {
    ibv_qp_attr attr{.qp_state = IBV_QPS_RTS};
    const int psn = state() == IBV_QPS_SQE ? 0 : IBV_QP_SQ_PSN;
    REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | psn), 0);
  }
  void post_receives() const {
    for (std::size_t slot = 0; slot < kReceives; ++slot) {
      ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(memory.data() + slot * kSlot),
                  .length = kSlot,
                  .lkey = mr->lkey};
      ibv_recv_wr wr{.wr_id = slot, .sg_list = &sge, .num_sge = 1};
      ibv_recv_wr* bad = nullptr;
      REQUIRE_EQ(ibv_post_recv(qp, &wr, &bad), 0);
    }
  }
  ibv_wc_status send(const Ud& to, Number number, std::uint32_t length = sizeof(Number)) const {
    const bool is_inline = length == sizeof number;
    ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(&number), .length = length};
    ibv_send_wr wr{.wr_id = number, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    if (is_inline) wr.send_flags = IBV_SEND_INLINE;
    wr.wr.ud = {.ah = home, .remote_qpn = to.qp->qp_num, .remote_qkey = kKey};
    ibv_send_wr* bad = nullptr;
    REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
    const ibv_wc wc = next(sent);
    CHECK_EQ(wc.wr_id, number);
    return wc.status;
  }
  /// As calls that build it; what the last of them says.
  int build(const Ud& to, const Numbers& numbers) const {
    ibv_qp_ex* const builder = ibv_qp_to_qp_ex(qp);
    ibv_wr_start(builder);
    for (Number number : numbers) {
      builder->wr_id = number;
      builder->wr_flags = 0;
      ibv_wr_send(builder);
      ibv_wr_set_inline_data(builder, &number, sizeof number);
      ibv_wr_set_ud_addr(builder, home, to.qp->qp_num, kKey);
    }
    return ibv_wr_complete(builder);
  }
  /// In one list.
  void send_list(const Ud& to, Numbers numbers) const {
    std::vector<ibv_sge> sges(numbers.size());
    std::vector<ibv_send_wr> wrs(numbers.size());
    for (std::size_t i = 0; i != numbers.size(); ++i) {
      sges[i] = {.addr = reinterpret_cast<std::uint64_t>(&numbers[i]), .length = sizeof(Number)};
      wrs[i] = {.wr_id = numbers[i],
                .next = i + 1 != numbers.size() ? &wrs[i + 1] : nullptr,
                .sg_list = &sges[i],
                .num_sge = 1,
                .opcode = IBV_WR_SEND,
                .send_flags = IBV_SEND_INLINE};
      wrs[i].wr.ud = {.ah = home, .remote_qpn = to.qp->qp_num, .remote_qkey = kKey};
    }
    ibv_send_wr* bad = nullptr;
    REQUIRE_EQ(ibv_post_send(qp, wrs.data(), &bad), 0);
    for (const Number number : numbers) CHECK_EQ(success(sent).wr_id, number);
  }
  /// Datagrams of these numbers; the sender sees no difference between them.
  void send_all(const Ud& to, const Numbers& numbers) const {
    for (const Number number : numbers) REQUIRE_EQ(send(to, number), IBV_WC_SUCCESS);
  }
  /// The numbers of the next datagrams, in the order in which they came.
  Numbers take(std::size_t count) const {
    Numbers out;
    while (out.size() != count) {
      const ibv_wc wc = success(received);
      REQUIRE_EQ(wc.byte_len, kSlot);
      std::memcpy(&out.emplace_back(), memory.data() + wc.wr_id * kSlot + kGrh, sizeof(Number));
    }
    return out;
  }
  std::string named() const { return "qp " + std::to_string(ordinal); }
  void told(ibv_event_type type) const {
    REQUIRE(readable(context->async_fd, kLimit));
    ibv_async_event event{};
    REQUIRE_EQ(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
    CHECK_EQ(event.event_type, type);
  }

  static inline int made = 0;  ///< in this process, which makes no others
  ibv_context* context;
  ibv_pd* pd;
  ibv_cq* sent;
  ibv_cq* received;
  std::vector<std::byte> memory;
  ibv_mr* mr;
  ibv_qp* qp = nullptr;
  ibv_ah* home = nullptr;
  int ordinal = 0;  ///< by which rules name it
};

}  // namespace faults
