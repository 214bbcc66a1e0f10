// SPDX-License-Identifier: Apache-2.0
// Tests the numbers of a connection that rdma_cm reports: numbers of Reads, retry counts, numbers
// of queue pairs and ports, and reasons of rejections. These cases run in two programs, as an RNIC
// and as a RoCE adapter.
#include <array>
#include <cerrno>
#include <utility>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

bool is_roce(const Id& id) { return id->verbs->device->transport_type == IBV_TRANSPORT_IB; }

ibv_qp_attr attributes_of(const Id& id) { return query(id->qp); }

/// Two ends. `asked` and `accepted` are the parameters of the events of the server and the client.
struct Ends : Meeting {
  void ask(rdma_conn_param param) {
    Meeting::ask(&param);
    asked = request->param.conn;
  }
  void accept(rdma_conn_param param) {
    Meeting::accept(&param);
    accepted = establish()->param.conn;
  }

  rdma_conn_param asked{}, accepted{};
};

rdma_conn_param param_of(int responder_resources, int initiator_depth) {
  return {.responder_resources = static_cast<std::uint8_t>(responder_resources),
          .initiator_depth = static_cast<std::uint8_t>(initiator_depth)};
}

// [RCM-170, RCM-171, RCM-172, RCM-173, RCM-175, RCM-176]
TEST_CASE("numbers of Reads arrive as the peer has passed them, from the other point of view") {
  constexpr std::array<std::pair<int, int>, 5> kReads{{{3, 4}, {1, 1}, {7, 2}, {16, 16}, {0, 0}}};
  for (const auto& [resources, depth] : kReads) {
    CAPTURE(resources);
    Ends ends;
    ends.ask(param_of(resources, depth));
    CHECK(ends.asked.responder_resources == depth);
    CHECK(ends.asked.initiator_depth == resources);
    const int less_depth = resources / 2;
    const int less_resources = depth / 2;
    ends.accept(param_of(less_resources, less_depth));
    CHECK(ends.accepted.responder_resources == less_depth);
    CHECK(ends.accepted.initiator_depth == less_resources);
    CHECK(attributes_of(ends.client.id).max_rd_atomic == less_resources);
    CHECK(attributes_of(ends.server.id).max_dest_rd_atomic == less_resources);
    CHECK(attributes_of(ends.client.id).max_dest_rd_atomic == less_depth);
  }
}

// [RCM-174]
TEST_CASE(
    "a server that permits more than the client wants, or wants more than it gets, gets less") {
  Ends ends;
  ends.ask(param_of(4, 2));
  ends.accept(param_of(16, 16));
  CHECK(ends.accepted.initiator_depth == 2);
  CHECK(ends.accepted.responder_resources == 4);
  CHECK(attributes_of(ends.client.id).max_rd_atomic == 2);
  CHECK(attributes_of(ends.server.id).max_rd_atomic == 4);
}

// [RCM-183, RCM-184, RCM-185, RCM-187, RCM-188, RCM-190, RCM-191, RCM-192]
TEST_CASE("as RoCE, events and queries have the peer's other numbers; as an RNIC, they have none") {
  Ends ends;
  ends.ask({.flow_control = 1, .retry_count = 5, .rnr_retry_count = 6});
  ends.accept({.rnr_retry_count = 4});
  const bool roce = is_roce(ends.client.id);
  CHECK(ends.asked.retry_count == (roce ? 5 : 0));
  CHECK(ends.asked.rnr_retry_count == (roce ? 6 : 0));
  CHECK(ends.asked.flow_control == (roce ? 1 : 0));
  CHECK(ends.asked.qp_num == (roce ? ends.client.id->qp->qp_num : 0));
  CHECK(ends.accepted.rnr_retry_count == (roce ? 4 : 0));
  CHECK(ends.accepted.qp_num == (roce ? ends.server.id->qp->qp_num : 0));
  // The client alone says how often both repeat a request that is not answered. Each end says how
  // often the other end repeats a Send.
  CHECK(attributes_of(ends.client.id).retry_cnt == (roce ? 5 : 0));
  CHECK(attributes_of(ends.client.id).rnr_retry == (roce ? 4 : 0));
  CHECK(attributes_of(ends.server.id).retry_cnt == (roce ? 5 : 0));
  CHECK(attributes_of(ends.server.id).rnr_retry == (roce ? 6 : 0));
}

// [RCM-83]
TEST_CASE("a client has its port when its address is resolved, and the server sees this port") {
  Meeting meeting;
  const Id client = make_id(meeting.channel);
  REQUIRE(rdma_resolve_addr(client.get(), nullptr, Address("127.0.0.1", meeting.port).get(),
                            kTimeoutMs) == 0);
  expect(meeting.channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  const auto early = rdma_get_src_port(client.get());
  CHECK(early != 0);
  // The port is reserved: no other program can bind it.
  const Id other = make_id(meeting.channel);
  CHECK(error_of(rdma_bind_addr(other.get(), Address("127.0.0.1", ntohs(early)).get())) ==
        EADDRINUSE);
  const auto own = rdma_get_src_port(meeting.client.id.get());
  meeting.ask(nullptr);
  CHECK(rdma_get_dst_port(meeting.server.id.get()) == own);
  CHECK(meeting.server.id->verbs == meeting.client.id->verbs);
  meeting.accept(nullptr);
  meeting.establish();
  CHECK(rdma_get_src_port(meeting.client.id.get()) == own);
}

// [RCM-133, RCM-153, RCM-154, RCM-155, RCM-157]
TEST_CASE("a rejection has its private data, and as RoCE the reason of InfiniBand") {
  constexpr int kInvalidServiceId = 8;  // The values are those of IB_CM_REJ_*.
  constexpr int kConsumerDefined = 28;
  const auto fails = [](int result) { return result == -1 && errno == EINVAL; };
  Meeting meeting;
  const bool roce = is_roce(meeting.client.id);
  SUBCASE("rejected by the program, with vendor options or without") {
    for (const auto reject : {rdma_reject, rdma_reject_ece}) {
      Meeting rejected;
      rejected.ask(nullptr);
      REQUIRE(reject(rejected.server.id.get(), "full", 4) == 0);
      const Event event = expect(rejected.channel, RDMA_CM_EVENT_REJECTED);
      CHECK(private_data(event).starts_with("full"));
      CHECK(event->status != 0);
      if (roce) CHECK(event->status == kConsumerDefined);
      CHECK(fails(reject(rejected.server.id.get(), "full", 4)));
    }
  }
  SUBCASE("no listener") {
    meeting.listener.reset();
    make_queue_pair(meeting.client);
    REQUIRE(rdma_connect(meeting.client.id.get(), nullptr) == 0);
    const Event event = expect(meeting.channel, RDMA_CM_EVENT_REJECTED);
    if (roce) CHECK(event->status == kInvalidServiceId);
  }
}

// [RCM-310, RCM-311, RCM-312]
TEST_CASE("ids that reuse addresses can be bound to one address, and only one of them can listen") {
  const Channel channel = make_channel();
  std::array<Id, 3> ids;
  Address address("127.0.0.1");
  for (Id& id : ids) {
    id = make_id(channel);
    int on = 1;
    REQUIRE(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof on) ==
            0);
    if (&id == &ids.back()) break;
    REQUIRE(rdma_bind_addr(id.get(), address.get()) == 0);
    address = Address("127.0.0.1", port_of(id));
  }
  const Id strict = make_id(channel);
  const auto is_in_use = [](int result) { return result == -1 && errno == EADDRINUSE; };
  CHECK(is_in_use(rdma_bind_addr(strict.get(), address.get())));
  CHECK(is_in_use(rdma_listen(ids[0].get(), 1)));
  ids[1].reset();
  CHECK(rdma_listen(ids[0].get(), 1) == 0);
  CHECK(is_in_use(rdma_bind_addr(ids[2].get(), address.get())));
}

// [RCM-131, RCM-140, RCM-151]
TEST_CASE("as RoCE, a queue pair that cannot carry a connection lends it its number") {
  Meeting meeting;
  rdma_cm_id* const client = meeting.client.id.get();
  if (!is_roce(meeting.client.id)) return;
  const Pd pd(ibv_alloc_pd(client->verbs));
  const Cq cq(ibv_create_cq(client->verbs, 4, nullptr, nullptr, 0));
  ibv_qp_init_attr init{
      .send_cq = cq.get(), .recv_cq = cq.get(), .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_UD};
  const Qp own(ibv_create_qp(pd.get(), &init));
  const Qp other(ibv_create_qp(pd.get(), &init));
  rdma_conn_param param{.private_data = "hello", .private_data_len = 5, .qp_num = own->qp_num};
  meeting.request_connection(&param);
  CHECK(meeting.request->param.conn.qp_num == own->qp_num);
  CHECK(private_data(meeting.request) == "hello");
  param.qp_num = other->qp_num;
  meeting.accept(&param);
  const Event response = expect(meeting.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
  CHECK(response->param.conn.qp_num == other->qp_num);
  CHECK(rdma_establish(client) == 0);
  expect(meeting.server_channel, RDMA_CM_EVENT_ESTABLISHED);
  REQUIRE(rdma_disconnect(client) == 0);
  expect(meeting.server_channel, RDMA_CM_EVENT_DISCONNECTED);
  expect(meeting.channel, RDMA_CM_EVENT_DISCONNECTED);
}

}  // namespace
