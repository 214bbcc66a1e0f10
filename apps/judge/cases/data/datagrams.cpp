// SPDX-License-Identifier: Apache-2.0
// Cases about datagrams: what arrives, what is dropped, and multicast groups.
#include "judge/tools/datagrams.hpp"

#include <arpa/inet.h>

#include <array>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::data_datagrams {
namespace {

/// Compares that the next datagram to arrive is the one after a datagram that must be dropped.
void expect_second(Judge& j, Datagrams& d) {
  std::strcpy(d.pair.a.memory(kTextAt), "second");
  d.send("completion of the second Send", d.request(4));
  expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_text("payload", d.pair.b.memory(kGrh), {"second"});
}

void fields(Judge& j) {
  Datagrams d(j);
  const ibv_wc wc = d.exchange();
  j.expect_equal("wr_id", wc.wr_id, 1);
  j.expect_true("opcode", wc.opcode == IBV_WC_RECV, "IBV_WC_RECV");
  j.expect_true("qp_num", wc.qp_num == d.pair.b.qp->qp_num, "the receiver");
  j.expect_true("src_qp", wc.src_qp == d.pair.a.qp->qp_num, "the sender");
  j.expect_true("wc_flags", (wc.wc_flags & IBV_WC_GRH) != 0, "IBV_WC_GRH");
  j.expect_true("immediate data", (wc.wc_flags & IBV_WC_WITH_IMM) == 0, "no IBV_WC_WITH_IMM");
  j.expect_equal("byte_len", wc.byte_len, kGrh + kPayload);
  j.expect_text("payload", d.pair.b.memory(kGrh), {"hello"});
}

void empty(Judge& j) {
  Datagrams d(j);
  d.receive(1, kGrh);
  d.send("completion of an empty Send", d.request(), 0);
  const ibv_wc wc = expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_equal("byte_len", wc.byte_len, kGrh);
}

void immediate(Judge& j) {
  Datagrams d(j);
  d.receive(1);
  ibv_send_wr wr = d.request(3, IBV_WR_SEND_WITH_IMM);
  wr.imm_data = htonl(0x12345678);
  d.send("completion of the Send", wr);
  const ibv_wc wc = expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_true("wc_flags", (wc.wc_flags & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM");
  j.expect_equal("imm_data", ntohl(wc.imm_data), 0x12345678);
}

// A RoCE v2 datagram over IPv4 has the IPv4 header at the end of the 40 bytes. Otherwise the bytes
// are an IPv6 header or a GRH, which begins with version 6.
void header(Judge& j) {
  Datagrams d(j);
  d.exchange();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(d.pair.b.memory(0));
  const ibv_gid own = j.gid();
  ibv_gid_entry entry{};
  j.require("ibv_query_gid_ex",
            errno_of(ibv_query_gid_ex(j.context(), j.port(), j.gid_index(), &entry, 0)));
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool is_ipv4 = entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
                       std::memcmp(own.raw, kMapped.data(), kMapped.size()) == 0;
  if (is_ipv4) {
    j.expect_true("byte 20", bytes[20] >> 4 == 4, "version 4");
    j.expect_true("bytes 32 to 35", std::memcmp(bytes + 32, own.raw + 12, 4) == 0,
                  "the address of the sender");
    j.expect_true("bytes 36 to 39", std::memcmp(bytes + 36, own.raw + 12, 4) == 0,
                  "the address of the receiver");
  } else {
    j.expect_true("byte 0", bytes[0] >> 4 == 6, "version 6");
    j.expect_true("bytes 8 to 23", std::memcmp(bytes + 8, own.raw, sizeof own.raw) == 0,
                  "the GID of the sender");
    j.expect_true("bytes 24 to 39", std::memcmp(bytes + 24, own.raw, sizeof own.raw) == 0,
                  "the GID of the receiver");
  }
}

// With two SGEs, the header fills the first one, and the payload the second.
void header_apart(Judge& j) {
  Datagrams d(j);
  j.require("ibv_post_recv",
            receive(d.pair.b, 1, {d.pair.b.sge(0, kGrh), d.pair.b.sge(1000, kPayload)}));
  d.send("completion of the Send", d.request());
  expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_text("payload", d.pair.b.memory(1000), {"hello"});
}

void in_order(Judge& j) {
  Datagrams d(j);
  for (std::uint64_t i = 1; i <= 3; ++i) d.receive(i);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const std::string step = "datagram " + std::to_string(i);
    d.send(step, d.request(i));
    const ibv_wc wc = expect_completion(j, step + ": completion of the receive", d.pair.b.recv_cq);
    j.expect_equal(step + ": wr_id", wc.wr_id, i);
  }
}

void with_srq(Judge& j) {
  Datagrams d(j, {.has_srq = true});
  const ibv_wc wc = d.exchange();
  j.expect_equal("byte_len", wc.byte_len, kGrh + kPayload);
  j.expect_text("payload", d.pair.b.memory(kGrh), {"hello"});
}

void two_receivers(Judge& j) {
  Datagrams d(j);
  j.require("ibv_post_recv of the sender", d.pair.a.post_recv(5, 0, kGrh + kPayload));
  d.receive(6);
  ibv_send_wr to_itself = d.request();
  to_itself.wr.ud.remote_qpn = d.pair.a.qp->qp_num;
  d.send("completion of the Send to itself", to_itself);
  const ibv_wc own = expect_completion(j, "completion of the sender's receive", d.pair.a.recv_cq);
  j.expect_equal("wr_id of the sender's receive", own.wr_id, 5);
  d.send("completion of the Send to the other", d.request());
  const ibv_wc other = expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_equal("wr_id of the receive", other.wr_id, 6);
}

// Q_Keys and lost datagrams ---------------------------------------------------------------------

void wrong_qkey(Judge& j) {
  Datagrams d(j);
  d.receive(1);
  ibv_send_wr wr = d.request();
  wr.wr.ud.remote_qkey = kQKey ^ 1;
  d.send("completion of a Send with a wrong Q_Key", wr);
  expect_second(j, d);
}

void qkey_counter(Judge& j) {
  if ((j.attributes().device_cap_flags & IBV_DEVICE_BAD_QKEY_CNTR) == 0) {
    j.not_applicable("the device lacks IBV_DEVICE_BAD_QKEY_CNTR");
  }
  Datagrams d(j);
  const std::uint32_t before = j.port_attributes().qkey_viol_cntr;
  d.receive(1);
  ibv_send_wr wr = d.request();
  wr.wr.ud.remote_qkey = kQKey ^ 1;
  d.send("completion of a Send with a wrong Q_Key", wr);
  expect_second(j, d);
  j.expect_equal("growth of qkey_viol_cntr", j.port_attributes().qkey_viol_cntr - before, 1);
}

// The sender uses its own Q_Key if the most significant bit of remote_qkey is set.
void own_qkey(Judge& j) {
  Datagrams d(j);
  d.receive(1);
  ibv_send_wr wr = d.request();
  wr.wr.ud.remote_qkey = 0x80000000;
  d.send("completion of the Send", wr);
  expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_text("payload", d.pair.b.memory(kGrh), {"hello"});
}

void wrong_qpn(Judge& j) {
  Datagrams d(j);
  d.receive(1);
  ibv_send_wr wr = d.request();
  wr.wr.ud.remote_qpn = 0xFFFFFE;
  d.send("completion of a Send to a number that no queue pair has", wr);
  expect_second(j, d);
}

void no_receive(Judge& j) {
  Datagrams d(j);
  d.send("completion of a Send without a receive", d.request());
  // The sender receives its own datagram, after which the first one has been processed.
  j.require("ibv_post_recv of the sender", d.pair.a.post_recv(5, 0, kGrh + kPayload));
  ibv_send_wr to_itself = d.request();
  to_itself.wr.ud.remote_qpn = d.pair.a.qp->qp_num;
  d.send("completion of the Send to itself", to_itself);
  expect_completion(j, "completion of the sender's receive", d.pair.a.recv_cq);
  d.receive(1);
  expect_second(j, d);
}

// The receive is too short for the first datagram. The device drops the datagram, or completes the
// receive with an error.
void short_receive(Judge& j) {
  Datagrams d(j);
  d.receive(1, kGrh + 4);
  d.send("completion of the Send", d.request());
  d.receive(2);
  std::strcpy(d.pair.a.memory(kTextAt), "abc");
  d.send("completion of a shorter Send", d.request(4), 4);
  const ibv_wc wc = expect_completion(j, "first completion of a receive", d.pair.b.recv_cq,
                                      {IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR});
  j.expect_equal("wr_id", wc.wr_id, 1);
  if (wc.status == IBV_WC_SUCCESS) j.expect_text("payload", d.pair.b.memory(kGrh), {"abc"});
}

// Lengths ---------------------------------------------------------------------------------------

std::uint32_t mtu(Judge& j) { return 128U << j.port_attributes().active_mtu; }

void largest(Judge& j) {
  Datagrams d(j);
  const std::uint32_t size = mtu(j);
  d.receive(1, kGrh + size);
  d.send("completion of a Send of the MTU", d.request(), size);
  const ibv_wc wc = expect_completion(j, "completion of the receive", d.pair.b.recv_cq);
  j.expect_equal("bytes above the MTU", wc.byte_len - kGrh - size, 0);
}

// IBTA C10-93.1.1: the device sends nothing, and need not report the error.
void too_large(Judge& j) {
  Datagrams d(j);
  const std::uint32_t size = mtu(j) + 1;
  d.receive(1, kGrh + size);
  const int code = d.pair.a.post_send(d.request(), kTextAt, size);
  j.expect("ibv_post_send of more than the MTU", code, {0, EINVAL, EMSGSIZE});
  if (code == 0) {
    const ibv_wc wc = expect_completion(j, "completion of the Send", d.pair.a.send_cq,
                                        {IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR});
    if (wc.status != IBV_WC_SUCCESS) {
      expect_empty(j, "completion of the receive", d.pair.b.recv_cq);
      return;
    }
  }
  expect_second(j, d);
}

// States ----------------------------------------------------------------------------------------

void sqe(Judge& j) {
  Datagrams d(j);
  d.receive(1);
  ibv_sge sge = d.pair.a.sge(kTextAt, kPayload);
  sge.lkey ^= 0xFF00;
  j.require("ibv_post_send", post(d.pair.a, d.request(), {sge}));
  expect_completion(j, "completion of a Send by a wrong key", d.pair.a.send_cq,
                    {IBV_WC_LOC_PROT_ERR});
  if (!expect_state(j, "state after it", d.pair.a, IBV_QPS_SQE)) return;
  j.require("ibv_post_send in SQE", d.pair.a.post_send(d.request(5), kTextAt, kPayload));
  expect_completion(j, "completion of a Send in SQE", d.pair.a.send_cq, {IBV_WC_WR_FLUSH_ERR});
  j.require("ibv_post_recv of the sender in SQE", d.pair.a.post_recv(6, 0, kGrh + kPayload));
  d.pair.a.attr.cur_qp_state = IBV_QPS_SQE;
  j.expect("ibv_modify_qp from SQE to RTS", d.pair.a.modify(IBV_QPS_RTS));
  expect_second(j, d);
}

void in_rtr(Judge& j) {
  Datagrams d(j);
  End receiver(j, {.type = IBV_QPT_UD});
  j.require("ibv_modify_qp to INIT", receiver.to_init());
  j.require("ibv_post_recv", receiver.post_recv(1, 0, kGrh + kPayload));
  j.require("ibv_modify_qp to RTR", receiver.to_rtr(0));
  ibv_send_wr wr = d.request();
  wr.wr.ud.remote_qpn = receiver.qp->qp_num;
  d.send("completion of the Send", wr);
  expect_completion(j, "completion of a receive in RTR", receiver.recv_cq);
}

// Multicast groups ------------------------------------------------------------------------------

constexpr ibv_gid kGroup{.raw = {0xFF, 0x0E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};

void require_attach(Judge& j, End& end) {
  if (j.attributes().max_mcast_grp == 0) j.not_applicable("max_mcast_grp is 0");
  j.require("ibv_attach_mcast", errno_of(ibv_attach_mcast(end.qp.get(), &kGroup, 0)));
}

void attach(Judge& j) {
  Datagrams d(j);
  require_attach(j, d.pair.b);
  j.expect("ibv_attach_mcast again", errno_of(ibv_attach_mcast(d.pair.b.qp.get(), &kGroup, 0)));
  j.expect("ibv_detach_mcast", errno_of(ibv_detach_mcast(d.pair.b.qp.get(), &kGroup, 0)));
  j.expect("ibv_detach_mcast again", errno_of(ibv_detach_mcast(d.pair.b.qp.get(), &kGroup, 0)),
           {EINVAL});
}

void detach_other(Judge& j) {
  Datagrams d(j);
  require_attach(j, d.pair.b);
  ibv_gid other = kGroup;
  other.raw[15] = 10;
  j.expect("ibv_detach_mcast from another group",
           errno_of(ibv_detach_mcast(d.pair.b.qp.get(), &other, 0)), {EINVAL});
  j.expect("ibv_detach_mcast by another queue pair",
           errno_of(ibv_detach_mcast(d.pair.a.qp.get(), &kGroup, 0)), {EINVAL});
  j.expect("ibv_detach_mcast", errno_of(ibv_detach_mcast(d.pair.b.qp.get(), &kGroup, 0)));
}

void attach_wrong(Judge& j) {
  Datagrams d(j);
  if (j.attributes().max_mcast_grp == 0) j.not_applicable("max_mcast_grp is 0");
  const ibv_gid own = j.gid();
  j.expect("ibv_attach_mcast to a GID of a host",
           errno_of(ibv_attach_mcast(d.pair.b.qp.get(), &own, 0)), {EINVAL});
  End connected(j);
  j.require("ibv_modify_qp to INIT", connected.to_init());
  j.expect("ibv_attach_mcast of an RC queue pair",
           errno_of(ibv_attach_mcast(connected.qp.get(), &kGroup, 0)), {EINVAL});
}

void destroy_attached(Judge& j) {
  Datagrams d(j);
  require_attach(j, d.pair.b);
  j.expect("ibv_destroy_qp of an attached queue pair", d.pair.b.qp.destroy(), {EBUSY});
  d.exchange();
  j.expect("ibv_detach_mcast", errno_of(ibv_detach_mcast(d.pair.b.qp.get(), &kGroup, 0)));
  j.expect("ibv_destroy_qp after it", d.pair.b.qp.destroy());
}

// clang-format off
constexpr Case kCases[] = {
    {"ud/receive/fields", "IBV-285 IBV-286 IBV-575 IBV-579", "fills the completion of a received datagram", fields, kUd},
    {"ud/receive/empty", "IBV-579", "receives a datagram without payload", empty, kUd},
    {"ud/receive/immediate", "IBV-584", "receives immediate data with a datagram", immediate, kUd},
    {"ud/receive/header", "IBV-578", "places the header of a datagram in the first 40 bytes", header, kUd},
    {"ud/receive/header-apart", "IBV-541 IBV-578", "places the payload after the first 40 bytes, even if another SGE begins there", header_apart, kUd},
    {"ud/receive/order", "IBV-538", "consumes receives in order", in_order, kUd},
    {"ud/receive/srq", "IBV-373", "receives datagrams into an SRQ", with_srq, kUd | kSrq},
    {"ud/receive/two", "IBV-585", "delivers each datagram to the queue pair that it addresses", two_receivers, kUd},
    {"ud/receive/in-rtr", "IBV-575", "receives datagrams in RTR", in_rtr, kUd},
    {"ud/qkey/wrong", "IBV-576", "drops a datagram with a wrong Q_Key", wrong_qkey, kUd},
    {"ud/qkey/counter", "IBV-89", "counts datagrams with a wrong Q_Key", qkey_counter, kUd},
    {"ud/qkey/own", "IBV-577", "sends the sender's own Q_Key if the top bit of remote_qkey is set", own_qkey, kUd},
    {"ud/drop/queue-pair", "IBV-575", "drops a datagram to a queue pair that does not exist", wrong_qpn, kUd},
    {"ud/drop/no-receive", "IBV-581", "drops a datagram for which no receive is posted", no_receive, kUd},
    {"ud/drop/short-receive", "IBV-580", "drops a datagram that exceeds its receive, or fails the receive", short_receive, kUd},
    {"ud/length/mtu", "IBV-582", "sends a datagram as long as the MTU", largest, kUd},
    {"ud/length/above-mtu", "IBV-582", "does not deliver a datagram larger than the MTU", too_large, kUd},
    {"ud/state/sqe", "IBV-447 IBV-461", "moves to SQE after a failed Send, and back to RTS", sqe, kUd},
    {"ud/group/attach", "IBV-586 IBV-588 IBV-590", "attaches a queue pair to a multicast group, and detaches it", attach, kUd},
    {"ud/group/detach-other", "IBV-590", "refuses to detach a queue pair from a group to which it is not attached", detach_other, kUd},
    {"ud/group/attach-wrong", "IBV-589 IBV-590", "refuses to attach to a GID that is not multicast, and to attach an RC queue pair", attach_wrong, kUd},
    {"ud/group/destroy", "IBV-495", "refuses to destroy a queue pair that is attached to a multicast group", destroy_attached, kUd},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_datagrams

iwarp::judge::Table iwarp::judge::data_datagrams_cases() { return data_datagrams::kCases; }
