// SPDX-License-Identifier: Apache-2.0
// A UD queue pair that runs as RoCE. It sends and receives numbers as payload.
#pragma once

#include "rules.hpp"
#include "support.hpp"

namespace faults {

using namespace data;

using Number = std::uint64_t;
using Numbers = std::vector<Number>;

inline constexpr std::size_t kSlot = kGrh + sizeof(Number);
inline constexpr std::size_t kReceives = 128;

/// A queue pair in RTS with its own device, completion queues and memory.
struct Ud : VerbsEnd {
  Ud()
      : VerbsEnd({.type = IBV_QPT_UD,
                  .cap = {16, kReceives, 1, 1, sizeof(Number)},
                  .cqe = kReceives,
                  .own_receive_cq = true,
                  .extended = true,
                  .memory = kSlot * kReceives}) {
    bring_up();
  }
  ~Ud() {
    CHECK_EQ(ibv_destroy_ah(home), 0);
    CHECK(destroy());
  }
  Ud(const Ud&) = delete;
  Ud& operator=(const Ud&) = delete;
  void end() {
    if (ibv_qp* const ending = std::exchange(qp, nullptr)) CHECK_EQ(ibv_destroy_qp(ending), 0);
  }
  void post_receives() const {
    for (std::size_t slot = 0; slot < kReceives; ++slot) {
      REQUIRE_EQ(receive(sge(slot * kSlot, kSlot), slot), 0);
    }
  }
  ibv_wc_status send(const Ud& to, Number number, std::uint32_t length = sizeof(Number)) const {
    ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(&number), .length = length};
    ibv_send_wr wr = datagram(sge, home, to.qp->qp_num, number);
    if (length == sizeof number) wr.send_flags = IBV_SEND_INLINE;
    REQUIRE_EQ(post_send(qp, wr), 0);
    const ibv_wc wc = next(cq);
    CHECK_EQ(wc.wr_id, number);
    return wc.status;
  }
  /// Builds one Send for each of `numbers` with ibv_wr_*(). Returns the result of the last call.
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
  /// Posts one Send for each of `numbers` as one list.
  void send_list(const Ud& to, Numbers numbers) const {
    std::vector<ibv_sge> sges(numbers.size());
    std::vector<ibv_send_wr> wrs(numbers.size());
    for (std::size_t i = 0; i != numbers.size(); ++i) {
      sges[i] = {.addr = reinterpret_cast<std::uint64_t>(&numbers[i]), .length = sizeof(Number)};
      wrs[i] = datagram(sges[i], home, to.qp->qp_num, numbers[i]);
      wrs[i].send_flags = IBV_SEND_INLINE;
      wrs[i].next = i + 1 != numbers.size() ? &wrs[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    REQUIRE_EQ(ibv_post_send(qp, wrs.data(), &bad), 0);
    for (const Number number : numbers) CHECK_EQ(success(cq).wr_id, number);
  }
  /// Sends one datagram for each of `numbers`, and checks that the sender sees no error.
  void send_all(const Ud& to, const Numbers& numbers) const {
    for (const Number number : numbers) REQUIRE_EQ(send(to, number), IBV_WC_SUCCESS);
  }
  /// Returns the numbers in the next `count` datagrams, in the order of arrival.
  Numbers take(std::size_t count) const {
    Numbers out;
    while (out.size() != count) {
      const ibv_wc wc = success(receive_cq);
      REQUIRE_EQ(wc.byte_len, kSlot);
      std::memcpy(&out.emplace_back(), memory + wc.wr_id * kSlot + kGrh, sizeof(Number));
    }
    return out;
  }
  std::string named() const { return "qp " + std::to_string(ordinal); }
  void expect_event(ibv_event_type type) const { CHECK_EQ(take_async_event().event_type, type); }

  /// Number of queue pairs that this process has created, all of which are of this type.
  static inline int made = 0;
  ibv_ah* home = way_home();
  int ordinal = ++made;  ///< number by which fault rules name this queue pair
};

}  // namespace faults
