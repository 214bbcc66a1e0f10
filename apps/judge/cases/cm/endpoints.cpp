// SPDX-License-Identifier: Apache-2.0
// Cases about synchronous ids, endpoints of rdma_create_ep(), and moving ids between channels.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_endpoints {
namespace {

rdma_addrinfo* look_up(Judge& j, const std::string& host, std::uint16_t port, int flags) {
  rdma_addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* out = nullptr;
  const std::string service = std::to_string(ntohs(port));
  must(j, "rdma_getaddrinfo", rdma_getaddrinfo(host.c_str(), service.c_str(), &hints, &out));
  return out;
}

ibv_qp_init_attr attributes() {
  ibv_qp_init_attr out{};
  out.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1};
  out.sq_sig_all = 1;
  return out;
}

/// Two endpoints, connected when the constructor returns. Every call waits for its event.
struct Endpoints {
  explicit Endpoints(Judge& j, const std::string& first_data = "", const std::string& data = "") {
    ibv_qp_init_attr init = attributes();
    rdma_addrinfo* const at = look_up(j, j.address(), 0, RAI_PASSIVE);
    must(j, "rdma_create_ep", errno_of(rdma_create_ep(&listener, at, nullptr, &init)));
    must(j, "rdma_listen", errno_of(rdma_listen(listener, 4)));
    rdma_addrinfo* const to = look_up(j, j.address(), rdma_get_src_port(listener), 0);
    if (!first_data.empty()) {
      to->ai_connect = ::strdup(first_data.c_str());
      to->ai_connect_len = first_data.size();
    }
    active = attributes();
    must(j, "rdma_create_ep", errno_of(rdma_create_ep(&client, to, nullptr, &active)));
    std::thread connecting([&] {
      rdma_conn_param parameters = with_data(data);
      connect_code = errno_of(rdma_connect(client, &parameters));
    });
    const int code = errno_of(rdma_get_request(listener, &server));
    if (code == 0 && server->event != nullptr) {
      request = server->event->event;
      const auto& conn = server->event->param.conn;
      if (conn.private_data != nullptr) {
        request_data.assign(static_cast<const char*>(conn.private_data), conn.private_data_len);
      }
    }
    const int accepted = code == 0 ? errno_of(rdma_accept(server, nullptr)) : 0;
    if (code != 0) rdma_destroy_id(listener);
    connecting.join();
    must(j, "rdma_get_request", code);
    must(j, "rdma_accept", accepted);
    must(j, "rdma_connect", connect_code);
  }
  rdma_cm_id* listener = nullptr;
  rdma_cm_id* client = nullptr;
  rdma_cm_id* server = nullptr;
  ibv_qp_init_attr active{};  ///< the attributes of the client after rdma_create_ep()
  rdma_cm_event_type request{};
  std::string request_data;
  int connect_code = 0;
};

void synchronous(Judge& j) {
  Ids ids(j);
  rdma_cm_id* const id = new_id(j, nullptr);
  j.expect_true("id->channel", id->channel != nullptr, "a channel of its own");
  j.expect("rdma_migrate_id(id, NULL)", errno_of(rdma_migrate_id(id, nullptr)), {EINVAL});
  const auto event_is = [&](rdma_cm_event_type type) {
    return id->event != nullptr && id->event->event == type;
  };
  j.require("rdma_resolve_addr", errno_of(rdma_resolve_addr(id, nullptr, ids.address, 1000)));
  j.expect_true("id->event", event_is(RDMA_CM_EVENT_ADDR_RESOLVED), "ADDR_RESOLVED");
  j.require("rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  j.expect_true("id->event then", event_is(RDMA_CM_EVENT_ROUTE_RESOLVED), "ROUTE_RESOLVED");
  create_qp(j, id);
  rdma_destroy_id(ids.listener);
  j.expect("rdma_connect to a free port", errno_of(rdma_connect(id, nullptr)), {ECONNREFUSED});
  j.expect_true("id->event after it", event_is(RDMA_CM_EVENT_REJECTED), "REJECTED");
  rdma_destroy_qp(id);
  j.expect("rdma_destroy_id with the event", errno_of(rdma_destroy_id(id)));
}

void endpoints(Judge& j) {
  Endpoints ends(j, "", "user");
  j.expect_true("qp of the client", ends.client->qp != nullptr, "set");
  j.expect_equal("qp_type of the attributes", ends.active.qp_type, IBV_QPT_RC);
  j.expect_true("event of the request", ends.request == RDMA_CM_EVENT_CONNECT_REQUEST,
                "CONNECT_REQUEST in id->event");
  j.expect_text("its private data", ends.request_data.substr(0, 4), {"user"});
  j.require_true("qp of the server", ends.server->qp != nullptr, "set");
  j.expect_true(
      "event of the server",
      ends.server->event != nullptr && ends.server->event->event == RDMA_CM_EVENT_ESTABLISHED,
      "ESTABLISHED in id->event");
  rdma_destroy_ep(ends.listener);
  std::array<char, 8> out{"hello"};
  std::array<char, 8> in{};
  ibv_mr* const from = rdma_reg_msgs(ends.client, out.data(), out.size());
  ibv_mr* const to = rdma_reg_msgs(ends.server, in.data(), in.size());
  for (int i = 0; i < 2; ++i) {
    must(j, "rdma_post_recv", errno_of(rdma_post_recv(ends.server, &in, in.data(), 8, to)));
  }
  must(j, "rdma_post_send", errno_of(rdma_post_send(ends.client, &out, out.data(), 5, from, 0)));
  ibv_wc wc{};
  j.expect_true("rdma_get_recv_comp", rdma_get_recv_comp(ends.server, &wc) == 1, "one completion");
  j.expect_true("its wr_id", wc.wr_id == reinterpret_cast<std::uint64_t>(&in), "the context");
  j.expect_equal("its byte_len", wc.byte_len, 5);
  j.expect_true("rdma_get_send_comp", rdma_get_send_comp(ends.client, &wc) == 1, "one completion");
  j.expect_true("wr_id of the Send", wc.wr_id == reinterpret_cast<std::uint64_t>(&out),
                "the context");
  int code = -1;
  std::thread other([&] { code = errno_of(rdma_disconnect(ends.client)); });
  j.expect_true("rdma_get_recv_comp after the end", rdma_get_recv_comp(ends.server, &wc) == 1,
                "one completion");
  j.expect("its status", wc.status, {IBV_WC_WR_FLUSH_ERR});
  rdma_disconnect(ends.server);
  other.join();
  j.expect("rdma_disconnect", code);
  j.expect_true(
      "event of the client",
      ends.client->event != nullptr && ends.client->event->event == RDMA_CM_EVENT_DISCONNECTED,
      "DISCONNECTED in id->event");
}

void connect_data(Judge& j) {
  const Endpoints ends(j, "first", "user");
  j.expect_text("the private data of the request", ends.request_data.substr(0, 9), {"firstuser"});
}

void without_attributes(Judge& j) {
  rdma_cm_id* id = nullptr;
  rdma_addrinfo* const to = look_up(j, j.address(), htons(kFreePort), 0);
  j.require("rdma_create_ep", errno_of(rdma_create_ep(&id, to, nullptr, nullptr)));
  j.expect_true("id->qp", id->qp == nullptr, "null");
}

void failing_endpoint(Judge& j) {
  rdma_cm_id* id = nullptr;
  rdma_addrinfo* const foreign = look_up(j, "192.0.2.77", 0, RAI_PASSIVE);
  j.expect("rdma_create_ep, address of another host",
           errno_of(rdma_create_ep(&id, foreign, nullptr, nullptr)), {EADDRNOTAVAIL});
  j.expect_true("the id", id == nullptr, "unchanged");
}

void destroyed_endpoint(Judge& j) {
  rdma_addrinfo* const to = look_up(j, j.address(), htons(kFreePort), 0);
  rdma_cm_id* id = nullptr;
  must(j, "rdma_create_ep", errno_of(rdma_create_ep(&id, to, nullptr, nullptr)));
  ibv_pd* const pd = ibv_alloc_pd(id->verbs);
  ibv_srq_init_attr srq{.attr = {.max_wr = 4, .max_sge = 1}};
  must(j, "rdma_create_srq", errno_of(rdma_create_srq(id, pd, &srq)));
  ibv_qp_init_attr init = qp_init(id);
  must(j, "rdma_create_qp", errno_of(rdma_create_qp(id, pd, &init)));
  rdma_destroy_ep(id);
  j.expect("ibv_dealloc_pd", errno_of(ibv_dealloc_pd(pd)));
}

void domain_of_endpoint(Judge& j) {
  rdma_addrinfo* const to = look_up(j, j.address(), htons(kFreePort), 0);
  rdma_cm_id* const probe = new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)));
  ibv_pd* const pd = ibv_alloc_pd(probe->verbs);
  rdma_cm_id* id = nullptr;
  ibv_qp_init_attr init = attributes();
  j.require("rdma_create_ep", errno_of(rdma_create_ep(&id, to, pd, &init)));
  j.expect_true("domain of the queue pair", id->qp->pd == pd && id->pd == pd, "the one passed");
}

void request_of_asynchronous(Judge& j) {
  Ids ids(j);
  rdma_cm_id* id = nullptr;
  j.expect("rdma_get_request", errno_of(rdma_get_request(ids.listener, &id)), {EINVAL});
}

void request_without_qp(Judge& j) {
  rdma_addrinfo* const at = look_up(j, j.address(), 0, RAI_PASSIVE);
  ibv_qp_init_attr init = attributes();
  init.cap.max_send_wr = static_cast<std::uint32_t>(j.attributes().max_qp_wr) + 1;
  rdma_cm_id* listener = nullptr;
  must(j, "rdma_create_ep", errno_of(rdma_create_ep(&listener, at, nullptr, &init)));
  must(j, "rdma_listen", errno_of(rdma_listen(listener, 4)));
  for (const char* const step : {"first rdma_get_request", "second rdma_get_request"}) {
    new_connecting(j, new_channel(j), Address(j.address(), rdma_get_src_port(listener)));
    rdma_cm_id* id = nullptr;
    j.expect_true(step, rdma_get_request(listener, &id) == -1 && errno != 0, "-1 and errno");
  }
}

void listener_first(Judge& j) {
  Endpoints ends(j);
  std::thread other([&] { rdma_disconnect(ends.client); });
  rdma_destroy_ep(ends.listener);
  rdma_disconnect(ends.server);
  other.join();
  rdma_destroy_ep(ends.server);
  rdma_destroy_ep(ends.client);
  j.expect_true("all calls return", true, "in any order");
}

void migrates(Judge& j) {
  rdma_event_channel* const from = new_channel(j);
  rdma_event_channel* const to = new_channel(j);
  rdma_cm_id* const id = new_resolving(j, from);
  j.require_true("the event is queued", is_readable(from->fd, kLimit), "readable");
  j.require("rdma_migrate_id", errno_of(rdma_migrate_id(id, to)));
  j.expect_true("id->channel", id->channel == to, "the new channel");
  j.expect_true("the old channel is readable", !is_readable(from->fd), "no");
  expect_event(j, "the queued event, on the new channel", to, {RDMA_CM_EVENT_ADDR_RESOLVED});
  must(j, "rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  expect_event(j, "a later event", to, {RDMA_CM_EVENT_ROUTE_RESOLVED});
  new_resolving(j, from);
  expect_event(j, "the event of another id", from, {RDMA_CM_EVENT_ADDR_RESOLVED});
}

void migrates_after_ack(Judge& j) {
  rdma_event_channel* const from = new_channel(j);
  rdma_event_channel* const to = new_channel(j);
  rdma_cm_id* const id = new_resolving(j, from);
  rdma_cm_event* const event = wait_event(from);
  std::atomic<bool> is_acknowledged = false;
  bool is_before = false;
  std::thread migrating = asleep_in([&] {
    rdma_migrate_id(id, to);
    is_before = !is_acknowledged;
  });
  is_acknowledged = true;
  rdma_ack_cm_event(event);
  migrating.join();
  j.expect_true("rdma_migrate_id returns", !is_before, "after the acknowledgement");
}

void migrates_to_channel(Judge& j) {
  rdma_cm_id* const id = new_resolving(j, nullptr);
  rdma_event_channel* const channel = new_channel(j);
  j.require("rdma_migrate_id to a channel", errno_of(rdma_migrate_id(id, channel)));
  j.expect("rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  expect_event(j, "event on the channel", channel, {RDMA_CM_EVENT_ROUTE_RESOLVED});
  j.require("rdma_migrate_id to no channel", errno_of(rdma_migrate_id(id, nullptr)));
  j.expect_true("id->channel", id->channel != nullptr && id->channel != channel, "a new one");
  create_qp(j, id);
  j.expect("rdma_connect to a free port", errno_of(rdma_connect(id, nullptr)), {ECONNREFUSED});
}

void migrates_listener(Judge& j) {
  Ids ids(j);
  must(j, "rdma_connect", errno_of(rdma_connect(ids.client, nullptr)));
  j.require_true("the request is queued", is_readable(ids.at_server->fd, kLimit), "readable");
  rdma_event_channel* const channel = new_channel(j);
  j.require("rdma_migrate_id", errno_of(rdma_migrate_id(ids.listener, channel)));
  j.expect_true("the old channel is readable", !is_readable(ids.at_server->fd), "no");
  const CmEvent event =
      expect_event(j, "event on the new channel", channel, {RDMA_CM_EVENT_CONNECT_REQUEST});
  j.require_true("the new id", event.id != nullptr, "there");
  j.expect_true("its channel", event.id->channel == channel, "the new channel");
  rdma_event_channel* const third = new_channel(j);
  j.require("rdma_migrate_id of the new id", errno_of(rdma_migrate_id(event.id, third)));
  create_qp(j, event.id);
  must(j, "rdma_accept", errno_of(rdma_accept(event.id, nullptr)));
  await(j, ids.at_client, RDMA_CM_EVENT_ESTABLISHED);
  expect_event(j, "first event on the third channel", third, {RDMA_CM_EVENT_ESTABLISHED});
  must(j, "rdma_disconnect", errno_of(rdma_disconnect(ids.client)));
  expect_event(j, "second event on the third channel", third, {RDMA_CM_EVENT_DISCONNECTED});
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/sync/calls", "RCM-234 RCM-235 RCM-236 RCM-237 RCM-238 RCM-327", "waits for the event of each call on a synchronous rdma_cm_id", synchronous, kCm},
    {"cm/endpoint/connect", "RCM-239 RCM-240 RCM-242 RCM-243 RCM-244 RCM-247 RCM-249 RCM-250 RCM-252 RCM-255 RCM-286 RCM-287 RCM-288", "connects endpoints that rdma_create_ep() created", endpoints, kCm},
    {"cm/endpoint/connect-data", "RCM-246", "sends ai_connect before the private data of rdma_connect()", connect_data, kCm},
    {"cm/endpoint/without-attributes", "RCM-241", "creates an endpoint without a queue pair if its attributes are null", without_attributes, kCm},
    {"cm/endpoint/domain", "RCM-240", "creates an endpoint's queue pair in the protection domain of the call", domain_of_endpoint, kCm},
    {"cm/endpoint/failed", "RCM-245", "refuses rdma_create_ep() with an address of another host", failing_endpoint, kCm},
    {"cm/endpoint/destroy", "RCM-248", "destroys an endpoint with its queue pair and its SRQ", destroyed_endpoint, kCm | kSrq},
    {"cm/endpoint/listener-first", "RCM-254", "destroys a listener before the endpoints that it accepted", listener_first, kCm},
    {"cm/endpoint/asynchronous", "RCM-251", "refuses rdma_get_request() on a listener with an event channel", request_of_asynchronous, kCm},
    {"cm/endpoint/request-without-qp", "RCM-253", "fails rdma_get_request() if a queue pair cannot be created", request_without_qp, kCm},
    {"cm/migrate/events", "RCM-321 RCM-322 RCM-323", "moves an rdma_cm_id and its queued event to another channel", migrates, kCm},
    {"cm/migrate/ack", "RCM-324", "moves an rdma_cm_id to another channel only after its events are acknowledged", migrates_after_ack, kCm},
    {"cm/migrate/synchronous", "RCM-325 RCM-326", "makes an rdma_cm_id asynchronous, then synchronous again, by rdma_migrate_id()", migrates_to_channel, kCm},
    {"cm/migrate/listener", "RCM-328 RCM-329", "moves a listener and its queued request to another channel", migrates_listener, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_endpoints

iwarp::judge::Table iwarp::judge::cm_endpoints_cases() { return cm_endpoints::kCases; }
