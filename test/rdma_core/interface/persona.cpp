// SPDX-License-Identifier: Apache-2.0
// Tests what a program written for RoCE requires of the device, the port, queue pairs and the CM.
// Runs with IWARP_AS=roce, which the library reads once per process, so these cases are a separate
// program.
#include <dlfcn.h>

#include <cstdlib>

#include "datagrams/datagrams.hpp"

namespace {

using namespace rdma_core_test;

const int kSet = ::setenv("IWARP_AS", "roce", 1);

/// Passes the attributes that rdma_init_qp_attr() returns to ibv_modify_qp().
void change(rdma_cm_id* id, ibv_qp* qp, ibv_qp_state to, int expected_mask) {
  ibv_qp_attr attr{.qp_state = to};
  int mask = 0;
  REQUIRE(rdma_init_qp_attr(id, &attr, &mask) == 0);
  CHECK(mask == expected_mask);
  REQUIRE(ibv_modify_qp(qp, &attr, mask) == 0);
}

/// The objects of one end that the program creates itself for an id.
struct Own : VerbsEnd {
  explicit Own(rdma_cm_id* id) : VerbsEnd({.context = id->verbs, .pd = id->pd}) {
    change(id, qp, IBV_QPS_INIT, kToInit);
  }
  ~Own() { CHECK(destroy()); }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;
};

// The judge's cases of ibv_modify_qp() show that the device does what it announces. [IBV-50,
// IBV-54]
TEST_CASE("the device announces steps with a condition, and no alternate paths") {
  const Context context = open_device();
  ibv_device_attr attr{};
  REQUIRE(ibv_query_device(context.get(), &attr) == 0);
  CHECK((attr.device_cap_flags & IBV_DEVICE_CURR_QP_STATE_MOD) != 0);
  CHECK((attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) == 0);
}

// [IBV-115]
TEST_CASE("a GID is of RoCE v2, as a program reads it and as it would read it in sysfs") {
  constexpr int kSysfsRoceV2 = 1;
  const Context context = open_device();
  ibv_gid_entry entry{};
  REQUIRE(ibv_query_gid_ex(context.get(), 1, 0, &entry, 0) == 0);
  CHECK(entry.gid_type == IBV_GID_TYPE_ROCE_V2);
  using QueryType = int(ibv_context*, std::uint8_t, unsigned, int*);
  auto* const query_type = reinterpret_cast<QueryType*>(
      ::dlvsym(RTLD_DEFAULT, "ibv_query_gid_type", "IBVERBS_PRIVATE_34"));
  REQUIRE((query_type != nullptr));
  int type = -1;
  CHECK(query_type(context.get(), 1, 0, &type) == 0);
  CHECK(type == kSysfsRoceV2);
}

// [RCM-230, RCM-231, RCM-232, RCM-233]
TEST_CASE("an id has no vendor options: its peer reports none, and setting any is refused") {
  const Meeting meeting;
  rdma_cm_id* const client = meeting.client.id.get();
  ibv_ece ece{.vendor_id = 1, .options = 2, .comp_mask = 3};
  CHECK(rdma_get_remote_ece(client, &ece) == 0);
  CHECK(ece.vendor_id == 0);
  CHECK(ece.options == 0);
  CHECK(ece.comp_mask == 0);
  CHECK(rdma_set_local_ece(client, &ece) == 0);
  const auto fails = [](int expected, auto call) {
    errno = 0;
    CHECK(call() == -1);
    CHECK(errno == expected);
  };
  ece.comp_mask = 1;
  fails(EINVAL, [&] { return rdma_set_local_ece(client, &ece); });
  ece = {.vendor_id = 1, .options = 2, .comp_mask = 0};
  fails(EOPNOTSUPP, [&] { return rdma_set_local_ece(client, &ece); });
  fails(EINVAL, [&] { return rdma_set_local_ece(client, nullptr); });
  fails(EINVAL, [&] { return rdma_set_local_ece(nullptr, &ece); });
  fails(EINVAL, [&] { return rdma_get_remote_ece(client, nullptr); });
  Pair connected;  // The CM owns the queue pairs of these ends.
  ece = {};
  fails(EINVAL, [&] { return rdma_set_local_ece(connected.client.id.get(), &ece); });
  fails(EINVAL, [&] { return rdma_get_remote_ece(connected.client.id.get(), &ece); });
}

/// A Meeting whose ends have queue pairs that the program created.
struct OwnMeeting : Meeting {
  OwnMeeting() : own(client.id.get()) {
    param.qp_num = own.qp->qp_num;
    request_connection(&param);
    other.emplace(server.id.get());
  }
  /// Accepts when the queue pair of the server is in RTR.
  void accept() {
    change(server.id.get(), other->qp, IBV_QPS_RTS, kToRts);
    param.qp_num = other->qp->qp_num;
    Meeting::accept(&param);
    expect(channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
  }

  Own own;
  std::optional<Own> other;
  rdma_conn_param param{.retry_count = 7};
};

// [RCM-126, RCM-130, RCM-140, RCM-151, RCM-224, RCM-225, RCM-226]
TEST_CASE("connecting a program's own queue pair produces the event CONNECT_RESPONSE") {
  OwnMeeting meeting;
  rdma_cm_id* const client = meeting.client.id.get();
  Own& own = meeting.own;
  Own& other = *meeting.other;
  change(meeting.server.id.get(), other.qp, IBV_QPS_RTR, kToRtr);
  meeting.accept();
  change(client, own.qp, IBV_QPS_RTR, kToRtr);
  change(client, own.qp, IBV_QPS_RTS, kToRts);
  CHECK(rdma_establish(client) == 0);
  expect(meeting.server_channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK(query(own.qp).qp_state == IBV_QPS_RTS);

  REQUIRE(post_recv(other.qp, {}) == 0);
  REQUIRE(post_send(own.qp, {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}) == 0);
  CHECK(End::done(own.cq).opcode == IBV_WC_SEND);
  CHECK(End::done(other.cq).opcode == IBV_WC_RECV);
  REQUIRE(rdma_disconnect(client) == 0);
  expect(meeting.channel, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_CASE("a server may name the client's queue pair in the step to RTR, and then accept") {
  OwnMeeting meeting;
  ibv_qp_attr attr{.qp_state = IBV_QPS_RTR};
  int mask = 0;
  REQUIRE(rdma_init_qp_attr(meeting.server.id.get(), &attr, &mask) == 0);
  attr.dest_qp_num = meeting.request->param.conn.qp_num;
  CHECK(attr.dest_qp_num == meeting.own.qp->qp_num);
  REQUIRE(ibv_modify_qp(meeting.other->qp, &attr, mask) == 0);
  meeting.accept();
  expect(meeting.server_channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK(rdma_establish(meeting.client.id.get()) == 0);
}

// [RCM-4, RCM-330, RCM-331, RCM-333, RCM-334]
TEST_CASE("when rdma_disconnect() returns, its queue pair is in ERR and everything is flushed") {
  const auto flushed = [](const Cq& cq, std::uint64_t wr_id) {
    ibv_wc wc{};
    // The completion is already queued when rdma_disconnect() returns.
    REQUIRE(ibv_poll_cq(cq.get(), 1, &wc) == 1);
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
    CHECK(wc.wr_id == wr_id);
  };
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    Pair pair;
    const Buffer own(pair.server.pd.get(), 64);
    const Buffer theirs(pair.client.pd.get(), 64);
    REQUIRE(pair.server.receive(own.sge(), 1) == 0);
    REQUIRE(pair.client.receive(theirs.sge()) == 0);
    REQUIRE(rdma_disconnect(pair.server.id.get()) == 0);
    CHECK(query(pair.server.id->qp).qp_state == IBV_QPS_ERR);
    flushed(pair.server.receive_cq, 1);
    REQUIRE(pair.server.send(own.sge(0), IBV_SEND_SIGNALED, 2) == 0);
    flushed(pair.server.send_cq, 2);
    REQUIRE(pair.server.receive(own.sge(), 3) == 0);
    flushed(pair.server.receive_cq, 3);
    expect(pair.server_channel, RDMA_CM_EVENT_DISCONNECTED);
    expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED);
    // The server posted a Send after the disconnect. It must not reach the client.
    CHECK(End::next(pair.client.receive_cq).status == IBV_WC_WR_FLUSH_ERR);
  }
}

TEST_CASE("a message that arrived is acknowledged, even if its receiver disconnects at once") {
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    Pair pair;
    const Buffer in(pair.server.pd.get(), 64);
    const Buffer out(pair.client.pd.get(), "the last");
    REQUIRE(pair.server.receive(in.sge()) == 0);
    REQUIRE(pair.client.send(out.sge()) == 0);
    CHECK(in.text(End::done(pair.server.receive_cq).byte_len) == "the last");
    REQUIRE(rdma_disconnect(pair.server.id.get()) == 0);
    End::done(pair.client.send_cq);
  }
}

void check_route(rdma_cm_id* id) {
  // The GID that stands for 127.0.0.1 is the port's first IPv4 GID, if it has one.
  const auto home = way_home(id->verbs, Family::kIpv4);
  const ibv_gid expected = home ? home->grh.dgid : gid_of("127.0.0.1");
  const auto same = [&](const ibv_gid& gid) {
    return std::memcmp(gid.raw, expected.raw, sizeof gid.raw) == 0;
  };
  const auto& address = id->route.addr.addr.ibaddr;
  CHECK(same(address.sgid));
  CHECK(same(address.dgid));
  CHECK(ibv_get_pkey_index(id->verbs, id->port_num, address.pkey) == 0);
  REQUIRE(id->route.num_paths == 1);
  const ibv_sa_path_rec& path = id->route.path_rec[0];
  CHECK(same(path.sgid));
  CHECK(same(path.dgid));
  CHECK(path.pkey == address.pkey);
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(id->verbs, id->port_num, &port) == 0);
  CHECK(path.mtu == port.active_mtu);
}

// [RCM-90, RCM-92]
TEST_CASE("ids at both ends have GIDs, a P_Key and the path to the peer") {
  const OwnMeeting meeting;
  check_route(meeting.client.id.get());
  check_route(meeting.server.id.get());
}

}  // namespace
