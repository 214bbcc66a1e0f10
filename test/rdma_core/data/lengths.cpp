// SPDX-License-Identifier: Apache-2.0
// Tests the limits of message lengths: max_msg_sz for every request, and a receive with the largest
// 32-bit length. The queue pair is in ERR, where requests are accepted and flushed, so the test
// needs no memory of that size.
#include <array>

#include "support.hpp"

using namespace data;

namespace {

constexpr std::uint32_t kMost = 1U << 31;

using Lengths = std::vector<std::uint32_t>;
const std::vector<Lengths> kLongest{
    {kMost}, {kMost - 1, 1}, {1, kMost - 1}, {kMost / 2, kMost / 2}, {0, kMost, 0}};
const std::vector<Lengths> kTooLong{
    {kMost + 1},    {kMost, 1},      {UINT32_MAX},
    {kMost, kMost}, {UINT32_MAX, 1}, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}};

/// A kind of request, and the call that begins it in a list that is built with ibv_wr_*().
struct Kind {
  ibv_wr_opcode opcode;
  void (*begin)(ibv_qp_ex* qp);
};
constexpr std::array kKinds{
    Kind{IBV_WR_SEND, [](auto* qp) { ibv_wr_send(qp); }},
    Kind{IBV_WR_SEND_WITH_IMM, [](auto* qp) { ibv_wr_send_imm(qp, 1); }},
    Kind{IBV_WR_SEND_WITH_INV, [](auto* qp) { ibv_wr_send_inv(qp, 1); }},
    Kind{IBV_WR_RDMA_WRITE, [](auto* qp) { ibv_wr_rdma_write(qp, 1, 4096); }},
    Kind{IBV_WR_RDMA_WRITE_WITH_IMM, [](auto* qp) { ibv_wr_rdma_write_imm(qp, 1, 4096, 1); }},
    Kind{IBV_WR_RDMA_READ, [](auto* qp) { ibv_wr_rdma_read(qp, 1, 4096); }}};

std::vector<ibv_sge> make_sges(const Lengths& lengths) {
  std::vector<ibv_sge> out;
  for (const auto length : lengths) out.push_back({.addr = 4096, .length = length, .lkey = 1});
  return out;
}

int post(End& end, const Kind& kind, const Lengths& lengths) {
  auto sges = make_sges(lengths);
  const ibv_send_wr wr{.sg_list = sges.data(),
                       .num_sge = static_cast<int>(sges.size()),
                       .opcode = kind.opcode,
                       .send_flags = IBV_SEND_SIGNALED};
  return post_send(end.qp, wr);
}

int build(End& end, const Kind& kind, const Lengths& lengths) {
  const auto sges = make_sges(lengths);
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(end.qp);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  kind.begin(qp);
  ibv_wr_set_sge_list(qp, sges.size(), sges.data());
  return ibv_wr_complete(qp);
}

int receive(End& end, const Lengths& lengths) {
  auto sges = make_sges(lengths);
  return post_recv(end.qp, {.sg_list = sges.data(), .num_sge = static_cast<int>(sges.size())});
}

}  // namespace

// [IBV-87, IBV-533]
TEST_CASE("a message of max_msg_sz is accepted, a longer one refused, for each kind of request") {
  End end({.extended = true});
  ibv_port_attr port{};
  REQUIRE_EQ(ibv_query_port(end.context, 1, &port), 0);
  REQUIRE_EQ(port.max_msg_sz, kMost);
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  REQUIRE_EQ(end.modify(IBV_QPS_ERR), 0);
  for (const auto request : {post, build}) {
    for (const Kind& kind : kKinds) {
      CAPTURE(kind.opcode);
      for (const auto& lengths : kLongest) {
        REQUIRE_EQ(request(end, kind, lengths), 0);
        CHECK_EQ(next(end.cq).status, IBV_WC_WR_FLUSH_ERR);
      }
      for (const auto& lengths : kTooLong) CHECK_EQ(request(end, kind, lengths), EINVAL);
    }
  }
  CHECK(is_empty(end.cq));
}

TEST_CASE("a receive is shorter than 2^32 octets") {
  End end;
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  CHECK_EQ(receive(end, {UINT32_MAX}), 0);
  CHECK_EQ(receive(end, {UINT32_MAX, 1}), EINVAL);
  CHECK_EQ(receive(end, {kMost, kMost - 1}), 0);
  CHECK_EQ(receive(end, {kMost, kMost}), EINVAL);
}
