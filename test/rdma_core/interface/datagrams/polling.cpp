// SPDX-License-Identifier: Apache-2.0
// Tests completions of UD queue pairs that are read with the ibv_wc_read_*() calls. This file
// belongs to the same program as datagrams.cpp.
#include "datagrams.hpp"

namespace {

using namespace rdma_core_test;

// [IBV-254, IBV-257, IBV-259, IBV-260, IBV-262, IBV-263, IBV-264, IBV-265]
TEST_CASE("the ibv_wc_read_*() calls return the sender and the data of a received datagram") {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const Datagrams from;
    const Datagrams to({.extended_cq = true});
    ibv_cq_ex* const cq = to.cq_ex;
    auto home = way_home(from.context, family);
    if (!home) continue;  // This host may have no IPv6.
    ibv_poll_cq_attr nothing{};
    CHECK(ibv_start_poll(cq, &nothing) == ENOENT);
    const Ah ah(ibv_create_ah(from.pd, &*home));
    REQUIRE(ah);
    const Buffer out(from.pd, "twelve octet");
    const Buffer in(to.pd, 256);
    for (const std::uint64_t number : {1U, 2U, 3U}) REQUIRE(to.receive(in, number) == 0);
    REQUIRE(from.send(ah.get(), to.qp->qp_num, out.sge(), IBV_WR_SEND_WITH_IMM, 41) == 0);
    REQUIRE(from.send(ah.get(), to.qp->qp_num, out.sge(3)) == 0);
    REQUIRE(from.send(ah.get(), to.qp->qp_num, out.sge(0), IBV_WR_SEND_WITH_IMM, 43) == 0);
    constexpr std::array<std::uint32_t, 3> kLengths{12, 3, 0};
    for (std::uint32_t i = 0; i != kLengths.size(); ++i) {
      i == 0 ? start_poll(cq) : next_poll(cq);
      const bool has_immediate = i != 1;
      CHECK(cq->wr_id == i + 1);
      CHECK(cq->status == IBV_WC_SUCCESS);
      CHECK(ibv_wc_read_opcode(cq) == IBV_WC_RECV);
      CHECK(ibv_wc_read_vendor_err(cq) == 0);
      CHECK(ibv_wc_read_byte_len(cq) == kGrh + kLengths[i]);
      CHECK(ibv_wc_read_qp_num(cq) == to.qp->qp_num);
      CHECK(ibv_wc_read_src_qp(cq) == from.qp->qp_num);
      CHECK(ibv_wc_read_wc_flags(cq) ==
            (IBV_WC_GRH | (has_immediate ? unsigned{IBV_WC_WITH_IMM} : 0U)));
      if (has_immediate) CHECK(ibv_wc_read_imm_data(cq) == htonl(41 + i));
      CHECK(ibv_wc_read_slid(cq) == 0);  // RoCE has no LIDs.
      CHECK(ibv_wc_read_dlid_path_bits(cq) == 0);
      CHECK(ibv_wc_read_sl(cq) == (family == Family::kIpv4 ? 0xA : 0x9));
    }
    CHECK(ibv_next_poll(cq) == ENOENT);
    ibv_end_poll(cq);
    CHECK(in.text(kGrh + 3).substr(kGrh) == "twe");
  }
}

TEST_CASE(
    "for a sent datagram the ibv_wc_read_*() calls return only the queue pair and the opcode") {
  const Datagrams end({.extended_cq = true});
  ibv_cq_ex* const cq = end.cq_ex;
  const Ah ah = end.home();
  const Buffer out(end.pd, "x");
  REQUIRE(end.send(ah.get(), end.qp->qp_num, out.sge()) == 0);
  start_poll(cq);
  CHECK(cq->wr_id == 77);
  CHECK(cq->status == IBV_WC_SUCCESS);
  CHECK(ibv_wc_read_opcode(cq) == IBV_WC_SEND);
  CHECK(ibv_wc_read_qp_num(cq) == end.qp->qp_num);
  CHECK(ibv_wc_read_wc_flags(cq) == 0);
  ibv_end_poll(cq);
  // ibv_poll_cq() continues after the completion at which ibv_end_poll() stopped.
  REQUIRE(end.send(ah.get(), end.qp->qp_num, out.sge()) == 0);
  CHECK(End::done(end.cq).opcode == IBV_WC_SEND);
}

}  // namespace
