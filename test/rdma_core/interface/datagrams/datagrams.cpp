// SPDX-License-Identifier: Apache-2.0
// Tests the header that a UD queue pair places in front of a datagram. The cases of this program
// need IWARP_AS=roce, which the library reads once per process.
#include "datagrams.hpp"

#include <cstdlib>

namespace {

using namespace rdma_core_test;

const int kSet = ::setenv("IWARP_AS", "roce", 1);

// [IBV-265, IBV-337]
TEST_CASE("hop limit and traffic class are those of the handle, and the GRH says so") {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const Datagrams a({.extended_cq = true});
    const Buffer out(a.pd, "x");
    const Buffer in(a.pd, 64);
    auto home = way_home(a.context, family);
    if (!home) continue;  // This host may have no IPv6.
    home->grh.hop_limit = 9;
    home->grh.traffic_class = 0x68;
    const Ah ah(ibv_create_ah(a.pd, &*home));
    REQUIRE(ah);
    REQUIRE(a.receive(in, 1) == 0);
    REQUIRE(a.send(ah.get(), a.qp->qp_num, out.sge()) == 0);
    ibv_wc wc = End::done(a.cq);
    if (wc.opcode == IBV_WC_SEND) wc = End::done(a.cq);
    const auto* const octets = static_cast<const std::uint8_t*>(in.mr->addr);
    // In `sl`, RoCE v2 adapters report the kind of header: UDP over IPv4 or over IPv6.
    CHECK(wc.sl == (family == Family::kIpv4 ? 0xA : 0x9));
    if (family == Family::kIpv4) {
      CHECK(octets[20] == 0x45);
      CHECK(octets[21] == 0x68);
      CHECK(octets[28] == 9);
    } else {
      CHECK(octets[0] == 0x66);
      CHECK(octets[1] == 0x80);
      CHECK(octets[7] == 9);
    }
    ibv_ah_attr back{};
    auto* const grh = static_cast<ibv_grh*>(in.mr->addr);
    REQUIRE(ibv_init_ah_from_wc(a.context, 1, &wc, grh, &back) == 0);
    CHECK(back.grh.traffic_class == 0x68);
    // The calls of an extended completion queue return the same.
    REQUIRE(a.receive(in, 2) == 0);
    REQUIRE(a.send(ah.get(), a.qp->qp_num, out.sge()) == 0);
    start_poll(a.cq_ex);
    if (ibv_wc_read_opcode(a.cq_ex) == IBV_WC_SEND) next_poll(a.cq_ex);
    CHECK(ibv_wc_read_sl(a.cq_ex) == wc.sl);
    CHECK(ibv_wc_read_slid(a.cq_ex) == wc.slid);
    CHECK(ibv_wc_read_dlid_path_bits(a.cq_ex) == wc.dlid_path_bits);
    ibv_end_poll(a.cq_ex);
  }
}

}  // namespace
