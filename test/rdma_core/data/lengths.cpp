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

constexpr std::array kOpcodes{IBV_WR_SEND,       IBV_WR_SEND_WITH_IMM,       IBV_WR_SEND_WITH_INV,
                              IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ};

std::vector<ibv_sge> make_sges(const Lengths& lengths) {
  std::vector<ibv_sge> out;
  for (const auto length : lengths) out.push_back({.addr = 4096, .length = length, .lkey = 1});
  return out;
}

int post(End& end, ibv_wr_opcode opcode, const Lengths& lengths) {
  auto sges = make_sges(lengths);
  ibv_send_wr wr{.sg_list = sges.data(),
                 .num_sge = static_cast<int>(sges.size()),
                 .opcode = opcode,
                 .send_flags = IBV_SEND_SIGNALED};
  ibv_send_wr* bad = nullptr;
  const int code = ibv_post_send(end.qp, &wr, &bad);
  CHECK_EQ(bad, code != 0 ? &wr : nullptr);
  return code;
}

int build(End& end, ibv_wr_opcode opcode, const Lengths& lengths) {
  const auto sges = make_sges(lengths);
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(end.qp);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  switch (opcode) {
    case IBV_WR_SEND:
      ibv_wr_send(qp);
      break;
    case IBV_WR_SEND_WITH_IMM:
      ibv_wr_send_imm(qp, 1);
      break;
    case IBV_WR_SEND_WITH_INV:
      ibv_wr_send_inv(qp, 1);
      break;
    case IBV_WR_RDMA_WRITE:
      ibv_wr_rdma_write(qp, 1, 4096);
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      ibv_wr_rdma_write_imm(qp, 1, 4096, 1);
      break;
    default:
      ibv_wr_rdma_read(qp, 1, 4096);
  }
  ibv_wr_set_sge_list(qp, sges.size(), sges.data());
  return ibv_wr_complete(qp);
}

int receive(End& end, const Lengths& lengths) {
  auto sges = make_sges(lengths);
  ibv_recv_wr wr{.sg_list = sges.data(), .num_sge = static_cast<int>(sges.size())};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(end.qp, &wr, &bad);
}

}  // namespace

TEST_CASE("a message of max_msg_sz is accepted, a longer one refused, for each kind of request") {
  Options options;
  options.extended = true;
  End end(options);
  ibv_port_attr port{};
  REQUIRE_EQ(ibv_query_port(end.context, 1, &port), 0);
  REQUIRE_EQ(port.max_msg_sz, kMost);
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  REQUIRE_EQ(end.modify(IBV_QPS_ERR), 0);
  for (const auto request : {post, build}) {
    for (const auto opcode : kOpcodes) {
      CAPTURE(opcode);
      for (const auto& lengths : kLongest) {
        REQUIRE_EQ(request(end, opcode, lengths), 0);
        CHECK_EQ(next(end.cq).status, IBV_WC_WR_FLUSH_ERR);
      }
      for (const auto& lengths : kTooLong) CHECK_EQ(request(end, opcode, lengths), EINVAL);
    }
  }
  ibv_wc wc{};
  CHECK_EQ(ibv_poll_cq(end.cq, 1, &wc), 0);
}

TEST_CASE("a receive is shorter than 2^32 octets") {
  End end;
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  CHECK_EQ(receive(end, {UINT32_MAX}), 0);
  CHECK_EQ(receive(end, {UINT32_MAX, 1}), EINVAL);
  CHECK_EQ(receive(end, {kMost, kMost - 1}), 0);
  CHECK_EQ(receive(end, {kMost, kMost}), EINVAL);
}
