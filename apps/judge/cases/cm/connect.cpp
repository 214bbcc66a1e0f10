// SPDX-License-Identifier: Apache-2.0
// Cases about requests, answers and rejections of rdma_cm.
#include <unistd.h>

#include <thread>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_connect {
namespace {

constexpr int kConsumerDefined = 28;  // IBTA vol. 1, 12.6.7.2: rejected by the program
constexpr int kInvalidServiceId = 8;  // no listener
constexpr std::uint32_t kOtherNumber = 12345;

int connect(rdma_cm_id* id, rdma_conn_param* with = nullptr) {
  return errno_of(rdma_connect(id, with));
}
int accept(rdma_cm_id* id, rdma_conn_param* with = nullptr) {
  return errno_of(rdma_accept(id, with));
}
int reject(rdma_cm_id* id) { return errno_of(rdma_reject(id, nullptr, 0)); }

void expect_state_of(Judge& j, std::string_view step, const rdma_cm_id* id, ibv_qp_state state) {
  j.expect(step, query(j, id->qp, IBV_QP_STATE).qp_state, {state});
}

void both_roles(Judge& j) {
  Ids ids(j);
  j.require("rdma_connect", connect(ids.client));
  CmEvent event =
      expect_event(j, "event at the listener", ids.at_server, {RDMA_CM_EVENT_CONNECT_REQUEST});
  j.require_true("id of the request", event.id != nullptr && event.id != ids.listener, "a new id");
  ids.server = event.id;
  j.expect_true("listen_id", event.listener == ids.listener, "the listener");
  j.expect("status of the request", event.status);
  create_qp(j, ids.server);
  j.require("rdma_accept", accept(ids.server));
  event = expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_ESTABLISHED});
  j.expect("status at the client", event.status);
  event = expect_event(j, "event at the server", ids.at_server, {RDMA_CM_EVENT_ESTABLISHED});
  j.expect("status at the server", event.status);
  j.expect_true("id at the server", event.id == ids.server, "the id of the request");
  expect_state_of(j, "the client's queue pair", ids.client, IBV_QPS_RTS);
  expect_state_of(j, "the server's queue pair", ids.server, IBV_QPS_RTS);
  expect_no_event(j, "another event at the client", ids.at_client);
  expect_no_event(j, "another event at the server", ids.at_server);
}

void request_members(Judge& j) {
  Ids ids(j);
  int context = 0;
  must(j, "rdma_connect", connect(ids.client));
  is_readable(ids.at_server->fd, kLimit);
  ids.listener->context = &context;
  const rdma_cm_id* const id = await(j, ids.at_server, RDMA_CM_EVENT_CONNECT_REQUEST).id;
  j.require_true("verbs", id->verbs != nullptr, "the device");
  j.expect_equal("port_num", id->port_num, j.port());
  j.expect_true("pd", id->pd != nullptr, "a protection domain");
  j.expect_true("channel", id->channel == ids.at_server, "that of the listener");
  j.expect_true("context", id->context == &context, "that of the listener");
  j.expect_equal("ps", id->ps, RDMA_PS_TCP);
  j.expect_equal("qp_type", id->qp_type, IBV_QPT_RC);
  auto* const server = const_cast<rdma_cm_id*>(id);
  j.expect_text("rdma_get_local_addr", host_of(rdma_get_local_addr(server)), {j.address()});
  j.expect_text("rdma_get_peer_addr", host_of(rdma_get_peer_addr(server)), {j.address()});
  j.expect_true("rdma_get_src_port", rdma_get_src_port(server) == rdma_get_src_port(ids.listener),
                "the listener's");
  j.expect_true("rdma_get_dst_port", rdma_get_dst_port(server) == rdma_get_src_port(ids.client),
                "the client's rdma_get_src_port");
}

template <bool IsBound>
void connect_without_route(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  rdma_conn_param parameters{.qp_num = 1};
  Address at(j.address());
  if (IsBound) must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, at)));
  j.expect("rdma_connect", connect(id, &parameters), {EINVAL});
}

void connect_out_of_order(Judge& j) {
  Ids ids(j);
  rdma_cm_id* const id = new_client(j, ids.at_client, ids.address, RDMA_PS_TCP, false);
  create_qp(j, id);
  j.expect("with an address only", connect(id), {EINVAL});
  ids.request();
  j.expect("while connecting", connect(ids.client), {EINVAL});
  ids.accept();
  j.expect("while connected", connect(ids.client), {EINVAL});
  must(j, "rdma_disconnect", errno_of(rdma_disconnect(ids.client)));
  await(j, ids.at_client, RDMA_CM_EVENT_DISCONNECTED);
  j.expect("after the end", connect(ids.client), {EINVAL});
}

void connect_without_qp(Judge& j) {
  Ids ids(j, RDMA_PS_TCP, false);
  j.expect("rdma_connect without a queue pair", connect(ids.client), {EINVAL});
  create_qp(j, ids.client);
  j.expect("rdma_connect with a queue pair", connect(ids.client));
}

void number_ignored(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{.srq = 1, .qp_num = kOtherNumber};
  const CmEvent event = ids.request(&parameters);
  j.expect_true("qp_num of the request", event.conn.qp_num == ids.client->qp->qp_num,
                "the number of the client's queue pair");
  j.expect_equal("srq of the request", event.conn.srq, 0);
  const CmEvent answer = ids.accept(&parameters);
  j.expect_true("qp_num of the answer", answer.conn.qp_num == ids.server->qp->qp_num,
                "the number of the server's queue pair");
}

/// The program's queue pair: rdma_connect() gets its number, and CONNECT_RESPONSE comes.
template <ibv_qp_type Type>
void own_queue_pair(Judge& j) {
  Ids ids(j, RDMA_PS_TCP, false);
  const auto make = [&](const rdma_cm_id* id) {
    ibv_pd* const pd = ibv_alloc_pd(id->verbs);
    ibv_cq* const cq = ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0);
    ibv_qp_init_attr init = qp_init(id);
    init.send_cq = init.recv_cq = cq;
    init.qp_type = Type;
    ibv_qp* const qp = ibv_create_qp(pd, &init);
    must(j, "ibv_create_qp", errno_of(qp));
    return qp;
  };
  ibv_qp* const own = make(ids.client);
  rdma_conn_param parameters{.responder_resources = 1, .initiator_depth = 1, .qp_num = own->qp_num};
  j.require("rdma_connect", connect(ids.client, &parameters));
  const CmEvent request =
      expect_event(j, "event at the listener", ids.at_server, {RDMA_CM_EVENT_CONNECT_REQUEST});
  j.require_true("qp_num of the request", request.conn.qp_num == own->qp_num,
                 "the number that was passed");
  ibv_qp* const peer = make(request.id);
  parameters.qp_num = peer->qp_num;
  j.require("rdma_accept", accept(request.id, &parameters));
  const CmEvent response =
      expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_CONNECT_RESPONSE});
  j.expect_true("qp_num of the response", response.conn.qp_num == peer->qp_num,
                "the number that was passed");
  j.expect("rdma_establish", errno_of(rdma_establish(ids.client)));
  expect_event(j, "event at the server", ids.at_server, {RDMA_CM_EVENT_ESTABLISHED});
}

void establish_refused(Judge& j) {
  Ids ids(j);
  rdma_cm_id* const id = new_client(j, ids.at_client, ids.address);
  j.expect("on a resolved id", errno_of(rdma_establish(id)), {EINVAL});
  ids.connect();
  j.expect("on a connected id with a queue pair", errno_of(rdma_establish(ids.client)), {EINVAL});
}

void notify(Judge& j) {
  Ids ids(j);
  ids.connect();
  j.expect("rdma_notify", errno_of(rdma_notify(ids.client, IBV_EVENT_COMM_EST)), {0, EISCONN});
  j.expect("on a new id", errno_of(rdma_notify(new_id(j, ids.at_client), IBV_EVENT_COMM_EST)),
           {EINVAL});
}

void no_listener(Judge& j) {
  Ids ids(j);
  rdma_destroy_id(ids.listener);
  j.require("rdma_connect", connect(ids.client));
  const CmEvent event = expect_event(j, "event", ids.at_client, {RDMA_CM_EVENT_REJECTED});
  if (j.is_iwarp()) {
    j.expect("its status", -event.status, {ECONNREFUSED, ECONNRESET});
  } else {
    j.expect_equal("its status", static_cast<std::uint64_t>(event.status), kInvalidServiceId);
  }
}

/// A TCP port that accepts connections, but does not speak MPA.
struct RawPeer {
  explicit RawPeer(Judge& j) : socket(::socket(AF_INET, SOCK_STREAM, 0)), address(j.address()) {
    socklen_t size = sizeof(sockaddr_in);
    must(j, "bind", errno_of(::bind(socket, address, size)));
    must(j, "listen", errno_of(::listen(socket, 1)));
    must(j, "getsockname", errno_of(::getsockname(socket, address, &size)));
    channel = new_channel(j);
    new_connecting(j, channel, address);
    accepted = ::accept(socket, nullptr, nullptr);
  }
  int socket;
  Address address;
  rdma_event_channel* channel = nullptr;
  int accepted = -1;
};

void no_mpa(Judge& j) {
  RawPeer peer(j);
  const std::string garbage(100, 'x');
  must(j, "write", ::write(peer.accepted, garbage.data(), garbage.size()) > 0 ? 0 : errno);
  const CmEvent event = expect_event(j, "event", peer.channel, {RDMA_CM_EVENT_CONNECT_ERROR});
  j.expect_true("its status", event.status < 0, "a negative errno");
}

void no_answer(Judge& j) {
  RawPeer peer(j);
  const CmEvent event =
      expect_event(j, "event", peer.channel, {RDMA_CM_EVENT_UNREACHABLE}, std::chrono::seconds(18));
  j.expect("its status", -event.status, {ETIMEDOUT});
}

void accept_refused(Judge& j) {
  Ids ids(j);
  rdma_conn_param none{};
  ids.request();
  j.expect("without a queue pair", accept(ids.server, &none), {EINVAL});
  ids.accept();
  j.expect("a second time", accept(ids.server, &none), {EINVAL});
  j.expect("rdma_reject after it", reject(ids.server), {EINVAL});
  j.expect("rdma_reject on the client's id", reject(ids.client), {EINVAL});
  j.expect("rdma_reject on the listener", reject(ids.listener), {EINVAL});
}

void accept_listener(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{.qp_num = ids.client->qp->qp_num};
  j.expect("rdma_accept of the listener", accept(ids.listener, &parameters), {EINVAL});
}

void accept_event_parameters(Judge& j) {
  Ids ids(j);
  must(j, "rdma_connect", connect(ids.client));
  rdma_cm_event* const event = wait_event(ids.at_server);
  j.require_true("the request", event != nullptr, "it arrives");
  create_qp(j, event->id);
  j.expect("rdma_accept", accept(event->id, &event->param.conn));
  rdma_ack_cm_event(event);
  expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_ESTABLISHED});
}

void accept_without_client(Judge& j) {
  Ids ids(j);
  ids.request();
  rdma_destroy_qp(ids.client);
  rdma_destroy_id(ids.client);
  create_qp(j, ids.server);
  if (accept(ids.server) == 0) {
    // With iWARP, the server may be connected before it notices the end.
    const CmEvent event = expect_event(
        j, "event at the server", ids.at_server,
        {RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_DISCONNECTED,
         RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_ESTABLISHED},
        std::chrono::seconds(18));
    if (event.type == RDMA_CM_EVENT_ESTABLISHED) {
      expect_event(j, "event after ESTABLISHED", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
    }
  }
}

template <auto Reject>
void rejected(Judge& j) {
  Ids ids(j);
  ids.request();
  j.require("rdma_reject", errno_of(Reject(ids.server, "why", 3)));
  const CmEvent event = expect_event(j, "event", ids.at_client, {RDMA_CM_EVENT_REJECTED});
  if (j.is_iwarp()) {
    j.expect("its status", -event.status, {ECONNREFUSED, ECONNRESET});
  } else {
    j.expect_equal("its status", static_cast<std::uint64_t>(event.status), kConsumerDefined);
  }
  j.expect_text("its private data", event.data.substr(0, 3), {"why"});
  rdma_conn_param none{.qp_num = ids.client->qp->qp_num};
  j.expect("rdma_reject again", reject(ids.server), {EINVAL});
  j.expect("rdma_accept after it", accept(ids.server, &none), {EINVAL});
  expect_no_event(j, "events at the server", ids.at_server);
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(ids.server)));
  ids.renew_client();
  j.require("rdma_connect of a second id", connect(ids.client));
  ids.server = await(j, ids.at_server, RDMA_CM_EVENT_CONNECT_REQUEST).id;
  ids.accept();
}

/// A client that has read ESTABLISHED connects again: the listener has read of the first
/// connection.
void order_of_connections(Judge& j) {
  constexpr int kTimes = 50;
  Ids ids(j);
  std::vector<rdma_cm_id*> clients{ids.client};
  while (clients.size() < kTimes) {
    clients.push_back(new_client(j, ids.at_client, ids.address));
    create_qp(j, clients.back());
  }
  std::thread client([&] {
    for (rdma_cm_id* const id : clients) {
      if (rdma_connect(id, nullptr) != 0) return;
      rdma_cm_event* const event = wait_event(ids.at_client);
      if (event == nullptr) return;
      rdma_ack_cm_event(event);
    }
  });
  bool is_in_order = true;
  for (int i = 0; i < kTimes && is_in_order; ++i) {
    for (const auto type : {RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_ESTABLISHED}) {
      rdma_cm_event* const event = wait_event(ids.at_server);
      is_in_order = is_in_order && event != nullptr && event->event == type;
      if (event == nullptr) break;
      rdma_cm_id* const id = event->id;
      rdma_ack_cm_event(event);
      if (type != RDMA_CM_EVENT_CONNECT_REQUEST || !is_in_order) continue;
      ibv_qp_init_attr init = qp_init(id);
      rdma_create_qp(id, nullptr, &init);
      rdma_accept(id, nullptr);
    }
  }
  client.join();
  j.expect_true("each request follows the ESTABLISHED of the connection before", is_in_order,
                "yes, in 50 of 50");
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/connect/both-roles", "RCM-2 RCM-5 RCM-6 RCM-115 RCM-119 RCM-122 RCM-125 RCM-127 RCM-145 RCM-200", "reports one event for each step of a connection", both_roles, kCm},
    {"cm/connect/request", "RCM-116 RCM-117 RCM-118 RCM-83", "fills the fields of the new rdma_cm_id of a connection request", request_members, kCm},
    {"cm/connect/idle", "RCM-123 RCM-1", "refuses rdma_connect() on an idle rdma_cm_id", connect_without_route<false>, kCm, kDangerous},
    {"cm/connect/bound", "RCM-123", "refuses rdma_connect() on a bound rdma_cm_id", connect_without_route<true>, kCm, kDangerous},
    {"cm/connect/order", "RCM-123 RCM-124", "refuses rdma_connect() before the route is resolved and after the first call", connect_out_of_order, kCm},
    {"cm/connect/without-qp", "RCM-128", "refuses rdma_connect() without a queue pair", connect_without_qp, kCm},
    {"cm/connect/qp-num-ignored", "RCM-129 RCM-187", "ignores qp_num of rdma_connect() if the rdma_cm_id has a queue pair", number_ignored, kCm | kByHand},
    {"cm/connect/own-qp", "RCM-126 RCM-130 RCM-140 RCM-151", "connects a queue pair that ibv_create_qp() created", own_queue_pair<IBV_QPT_RC>, kCm | kByHand},
    {"cm/connect/own-qp-ud", "RCM-131 RCM-140", "reports the number of a UD queue pair that ibv_create_qp() created", own_queue_pair<IBV_QPT_UD>, kCm | kByHand | kUd},
    {"cm/connect/establish", "RCM-141 RCM-142", "refuses rdma_establish() without CONNECT_RESPONSE", establish_refused, kCm},
    {"cm/connect/notify", "RCM-143 RCM-144", "fails rdma_notify() with EINVAL on a new rdma_cm_id, and only with EISCONN on a connected one", notify, kCm},
    {"cm/connect/no-listener", "RCM-133 RCM-155 RCM-156", "rejects a connection request to a port without a listener", no_listener, kCm},
    {"cm/connect/no-mpa", "RCM-135", "reports CONNECT_ERROR if the peer does not speak MPA", no_mpa, kCm | kIwarp},
    {"cm/connect/no-answer", "RCM-134", "reports UNREACHABLE if the peer does not answer", no_answer, kCm | kIwarp},
    {"cm/connect/in-order", "RCM-120", "reports ESTABLISHED of a connection before the next connection request", order_of_connections, kCm},
    {"cm/accept/refused", "RCM-147 RCM-148 RCM-157", "refuses rdma_accept() without a queue pair and after the first call", accept_refused, kCm},
    {"cm/accept/listener", "RCM-146", "refuses rdma_accept() on a listener", accept_listener, kCm, kDangerous},
    {"cm/accept/event-parameters", "RCM-149", "accepts a connection with the parameters of its connection request", accept_event_parameters, kCm},
    {"cm/accept/client-gone", "RCM-152", "ends a connection whose client was destroyed before rdma_accept()", accept_without_client, kCm},
    {"cm/reject/data", "RCM-153 RCM-154 RCM-155 RCM-156 RCM-157 RCM-158 RCM-159", "delivers the data of rdma_reject(), and refuses a second rejection", rejected<rdma_reject>, kCm},
    {"cm/reject/ece", "RCM-153 RCM-154 RCM-157", "delivers the data of rdma_reject_ece(), and refuses a second rejection", rejected<rdma_reject_ece>, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_connect

iwarp::judge::Table iwarp::judge::cm_connect_cases() { return cm_connect::kCases; }
