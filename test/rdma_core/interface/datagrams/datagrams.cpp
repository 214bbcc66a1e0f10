// SPDX-License-Identifier: Apache-2.0
// Tests UD queue pairs, address handles, ids of RDMA_PS_UDP, and UC queue pairs. These need
// IWARP_AS=roce, which the library reads once per process, so these cases are a separate program.
#include "datagrams.hpp"

#include <cstdlib>

namespace {

using namespace rdma_core_test;

const int kSet = ::setenv("IWARP_AS", "roce", 1);

// [IBV-282, IBV-285, IBV-286, IBV-340, IBV-341, IBV-342, IBV-343, IBV-541, IBV-575, IBV-578,
// IBV-579, IBV-583, IBV-584]
TEST_CASE("a datagram arrives after its GRH, which contains the reverse path") {
  const Datagrams a;
  const Datagrams b;
  const Buffer out(a.pd, "a datagram");
  const Buffer in(b.pd, 256);
  const Ah ah = a.home();
  CHECK((a.qp->qp_num & 0x800000) != 0);
  REQUIRE(b.receive(in, 5) == 0);
  REQUIRE(a.send(ah.get(), b.qp->qp_num, out.sge(), IBV_WR_SEND_WITH_IMM) == 0);
  CHECK(End::done(a.cq).wr_id == 77);
  ibv_wc wc = End::done(b.cq);
  CHECK(wc.wr_id == 5);
  CHECK(wc.opcode == IBV_WC_RECV);
  CHECK(wc.byte_len == kGrh + 10);
  CHECK(wc.src_qp == a.qp->qp_num);
  CHECK(wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM));
  CHECK(ntohl(wc.imm_data) == 0xABCD);
  CHECK(in.text(wc.byte_len).substr(kGrh) == "a datagram");
  // Sends the reply along the reverse path.
  auto* const grh = reinterpret_cast<ibv_grh*>(in.mr->addr);
  ibv_ah_attr back{};
  REQUIRE(ibv_init_ah_from_wc(b.context, 1, &wc, grh, &back) == 0);
  const ibv_gid own = way_home(a.context).grh.dgid;
  CHECK(std::memcmp(back.grh.dgid.raw, own.raw, sizeof own.raw) == 0);
  const Ah to_a(ibv_create_ah_from_wc(b.pd, &wc, grh, 1));
  REQUIRE(to_a);
  const Buffer answer(a.pd, 64);
  REQUIRE(a.receive(answer, 6) == 0);
  REQUIRE(b.send(to_a.get(), wc.src_qp, in.sge(8)) == 0);
  CHECK(End::done(b.cq).opcode == IBV_WC_SEND);
  CHECK(End::done(a.cq).byte_len == kGrh + 8);
  wc.wc_flags = 0;
  CHECK(error_of(ibv_create_ah_from_wc(b.pd, &wc, grh, 1)) == EINVAL);
}

// [IBV-89, IBV-481, IBV-576]
TEST_CASE("the port counts datagrams with a wrong Q_Key") {
  const Datagrams a;
  const Datagrams b;
  const Buffer out(a.pd, "a datagram");
  const Buffer in(b.pd, 256);
  const Ah ah = a.home();
  const auto violations = [&] {
    ibv_port_attr port{};
    REQUIRE(ibv_query_port(a.context, 1, &port) == 0);
    return port.qkey_viol_cntr;
  };
  const auto before = violations();
  REQUIRE(b.receive(in, 5) == 0);
  ibv_sge sge = out.sge();
  ibv_send_wr right = datagram(sge, ah.get(), b.qp->qp_num);
  ibv_send_wr wrong = right;
  wrong.next = &right;
  wrong.wr.ud.remote_qkey = kKey + 1;
  ibv_send_wr* bad = nullptr;
  REQUIRE(ibv_post_send(a.qp, &wrong, &bad) == 0);
  CHECK(End::done(b.cq).wr_id == 5);
  CHECK(violations() == before + 1);
}

// [IBV-337]
TEST_CASE("hop limit and traffic class are those of the handle, and the GRH says so") {
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    const Datagrams a;
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
  }
}

// [IBV-371, IBV-372, IBV-373, IBV-392]
TEST_CASE("two queue pairs consume receives from one queue, which can become empty") {
  const Datagrams a({.shared_receives = true});
  ibv_qp_init_attr init{.send_cq = a.cq,
                        .recv_cq = a.cq,
                        .srq = a.srq,
                        .cap = {8, 8, 2, 2, 64},
                        .qp_type = IBV_QPT_UD};
  const Qp second(ibv_create_qp(a.pd, &init));
  REQUIRE(second);
  ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
  REQUIRE(ibv_modify_qp(second.get(), &attr, kUdToInit) == 0);
  REQUIRE(move_to(second.get(), IBV_QPS_RTR) == 0);

  const Datagrams from;
  const Buffer out(from.pd, "shared");
  const Buffer in(a.pd, 64);
  const Ah ah = from.home();
  std::uint64_t n = 0;
  for (const std::uint32_t to : {a.qp->qp_num, second->qp_num, a.qp->qp_num}) {
    REQUIRE(a.receive(in, ++n) == 0);
    REQUIRE(from.send(ah.get(), to, out.sge()) == 0);
    CHECK(End::done(from.cq).wr_id == 77);
    const ibv_wc wc = End::done(a.cq);
    CHECK(wc.qp_num == to);
    CHECK(wc.wr_id == n);
    CHECK(wc.byte_len == kGrh + 6);
    CHECK(in.text(kGrh + 6).substr(kGrh) == "shared");
  }
  CHECK(post_recv(a.qp, {.wr_id = 3}) == EINVAL);
}

// [IBV-447, IBV-461, IBV-505, IBV-582]
TEST_CASE("a request of another kind, or too long for the port, is refused") {
  const Datagrams a;
  const Buffer large(a.pd, 8192);
  const Ah ah = a.home();
  CHECK(a.send(ah.get(), a.qp->qp_num, large.sge(8), IBV_WR_RDMA_WRITE) == EINVAL);
  CHECK(a.send(nullptr, a.qp->qp_num, large.sge(8)) == EINVAL);
  REQUIRE(a.send(ah.get(), a.qp->qp_num, large.sge()) == 0);
  CHECK(next(a.cq).status == IBV_WC_LOC_LEN_ERR);
  CHECK(a.state() == IBV_QPS_SQE);
  REQUIRE(a.send(ah.get(), a.qp->qp_num, large.sge(8)) == 0);
  CHECK(next(a.cq).status == IBV_WC_WR_FLUSH_ERR);
  a.to_rts();
  CHECK(a.state() == IBV_QPS_RTS);
  REQUIRE(a.send(ah.get(), a.qp->qp_num, large.sge(8)) == 0);
  CHECK(next(a.cq).status == IBV_WC_SUCCESS);
}

TEST_CASE("a queue pair sends requests that are built with ibv_wr_*() to itself") {
  const Datagrams a({.extended = true});
  const Buffer in(a.pd, 256);
  const Ah ah = a.home();
  REQUIRE(a.receive(in, 1) == 0);
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(a.qp);
  REQUIRE(builder != nullptr);
  ibv_wr_start(builder);
  builder->wr_id = 9;
  builder->wr_flags = 0;
  ibv_wr_send(builder);
  ibv_wr_set_inline_data(builder, const_cast<char*>("inline"), 6);
  ibv_wr_set_ud_addr(builder, ah.get(), a.qp->qp_num, kKey);
  REQUIRE(ibv_wr_complete(builder) == 0);
  CHECK(End::done(a.cq).byte_len == kGrh + 6);
  CHECK(in.text(kGrh + 6).substr(kGrh) == "inline");
}

// [IBV-564, IBV-568]
TEST_CASE("several requests are built in one list, with immediate data and with several buffers") {
  const Datagrams a({.extended = true});
  const Buffer out(a.pd, "one two");
  const Buffer in(a.pd, 256);
  const Ah ah = a.home();
  ibv_sge head = in.sge(kGrh + 2);
  ibv_sge tail{.addr = head.addr + 100, .length = 100, .lkey = head.lkey};
  std::array into{head, tail};
  for (const std::uint64_t id : {1U, 2U}) {
    REQUIRE(post_recv(a.qp, {.wr_id = id, .sg_list = into.data(), .num_sge = 2}) == 0);
  }
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(a.qp);
  const ibv_sge all = out.sge();
  const std::array pieces{ibv_sge{all.addr + 4, 3, all.lkey}, ibv_sge{all.addr, 3, all.lkey}};
  ibv_wr_start(builder);
  for (const std::uint32_t number : {1U, 2U}) {
    builder->wr_id = 10 + number;
    builder->wr_flags = 0;
    ibv_wr_send_imm(builder, htonl(number));
    ibv_wr_set_ud_addr(builder, ah.get(), a.qp->qp_num, kKey);
    ibv_wr_set_sge_list(builder, pieces.size(), pieces.data());
  }
  REQUIRE(ibv_wr_complete(builder) == 0);
  for (const std::uint32_t number : {1U, 2U}) {
    const ibv_wc wc = End::done(a.cq);
    CHECK(wc.wr_id == number);
    CHECK(wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM));
    CHECK(ntohl(wc.imm_data) == number);
    CHECK(wc.byte_len == kGrh + 6);
  }
  CHECK(in.text(kGrh + 2).substr(kGrh) == "tw");
  CHECK(in.text(104).substr(100) == "oone");
}

// [RCM-114, RCM-318, RCM-345, RCM-347, RCM-351, RCM-352]
TEST_CASE("an id asks a port for its queue pair, and is answered or refused") {
  const Channel channel = make_channel();
  const Id listener = listening(channel, Address("127.0.0.1"), 4, RDMA_PS_UDP);
  for (const bool accepts : {true, false}) {
    const Address to("127.0.0.1", port_of(listener));
    const Id client = resolved(channel, to, RDMA_PS_UDP);
    make_queue_pair(client.get());
    std::uint8_t timeout = 14;
    CHECK(error_of(rdma_set_option(client.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
                                   &timeout, sizeof timeout)) == EINVAL);
    rdma_conn_param param{.private_data = "who?", .private_data_len = 4};
    REQUIRE(rdma_connect(client.get(), &param) == 0);
    Event request = expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    CHECK(request->param.ud.private_data_len == 4);
    CHECK(std::memcmp(request->param.ud.private_data, "who?", 4) == 0);
    const Id server(request->id);
    request.reset();
    param.private_data = "me";
    param.private_data_len = 2;
    if (accepts) {
      make_queue_pair(server.get());
      REQUIRE(rdma_accept(server.get(), &param) == 0);
    } else {
      REQUIRE(rdma_reject(server.get(), "no", 2) == 0);
    }
    const Event answer =
        expect(channel, accepts ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE);
    CHECK(answer->param.ud.private_data_len == 2);
    CHECK(std::memcmp(answer->param.ud.private_data, accepts ? "me" : "no", 2) == 0);
    CHECK((answer->status == 0) == accepts);
    if (accepts) CHECK(answer->param.ud.qp_num == server->qp->qp_num);
    CHECK(rdma_disconnect(client.get()) == -1);
  }
}

}  // namespace
