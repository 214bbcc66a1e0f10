// SPDX-License-Identifier: Apache-2.0
// Addresses and events of rdma_cm, and the comparisons that cases about rdma_cm make. Ignores
// TIMEWAIT_EXIT, which some devices report and others do not.
#include "judge/tools/ids.hpp"

#include <arpa/inet.h>

#include <array>

namespace iwarp::judge {

Address::Address(const std::string& host, std::uint16_t port) {
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = port;
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
  }
}

std::string host_of(const sockaddr* address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  if (address->sa_family != AF_INET) return "";
  ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(),
              text.size());
  return text.data();
}

std::string_view event_name(rdma_cm_event_type type) {
  constexpr std::string_view kPrefix = "RDMA_CM_EVENT_";
  std::string_view name = rdma_event_str(type);
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return name;
}

rdma_cm_event* wait_event(rdma_event_channel* channel, std::chrono::milliseconds limit) {
  for (;;) {
    rdma_cm_event* event = nullptr;
    if (!is_readable(channel->fd, limit)) return nullptr;
    if (rdma_get_cm_event(channel, &event) != 0) return nullptr;
    if (event->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) return event;
    rdma_ack_cm_event(event);
  }
}

namespace {

std::optional<CmEvent> take(rdma_event_channel* channel, std::chrono::milliseconds limit) {
  rdma_cm_event* const event = wait_event(channel, limit);
  if (event == nullptr) return std::nullopt;
  CmEvent out{.type = event->event,
              .status = event->status,
              .id = event->id,
              .listener = event->listen_id,
              .conn = event->param.conn,
              .ud = event->param.ud,
              .data = {}};
  const bool is_ud = event->id->qp_type == IBV_QPT_UD;
  const void* const data = is_ud ? out.ud.private_data : out.conn.private_data;
  const auto length = is_ud ? out.ud.private_data_len : out.conn.private_data_len;
  const bool is_context = out.type == RDMA_CM_EVENT_MULTICAST_JOIN;
  if (data != nullptr && !is_context) out.data.assign(static_cast<const char*>(data), length);
  rdma_ack_cm_event(event);
  return out;
}

}  // namespace

CmEvent expect_event(Judge& judge, std::string_view step, rdma_event_channel* channel,
                     std::initializer_list<rdma_cm_event_type> allowed,
                     std::chrono::milliseconds limit) {
  const auto event = take(channel, limit);
  std::string expected;
  bool is_right = false;
  for (const rdma_cm_event_type type : allowed) {
    expected += (expected.empty() ? "" : " or ") + std::string(event_name(type));
    is_right |= event && event->type == type;
  }
  const std::string_view observed = event ? event_name(event->type) : "no event";
  if (is_right) expected = observed;
  judge.expect_text(step, observed, {expected});
  return event.value_or(CmEvent{});
}

CmEvent await(Judge& judge, rdma_event_channel* channel, rdma_cm_event_type type) {
  const auto event = take(channel, kLimit);
  if (event && event->type == type) return *event;
  judge.require_true("set-up: waits for " + std::string(event_name(type)) + ", receives " +
                         std::string(event ? event_name(event->type) : std::string_view("nothing")),
                     false, "the event");
  return {};
}

bool expect_no_event(Judge& judge, std::string_view step, rdma_event_channel* channel,
                     rdma_port_space space) {
  rdma_cm_id* const later = new_resolving(judge, channel, space);
  const auto event = take(channel, kLimit);
  std::string_view observed =
      "no event at all, although a second rdma_cm_id must report ADDR_RESOLVED";
  if (event) observed = event->id == later ? "no event" : event_name(event->type);
  return judge.expect_text(step, observed, {"no event"});
}

void expect_refused(Judge& judge, std::string_view step, ibv_cq* cq, ibv_wc_status status) {
  if (judge.is_iwarp()) {
    expect_completion(
        judge, step, cq,
        {IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR, status, IBV_WC_REM_OP_ERR, IBV_WC_GENERAL_ERR});
  } else {
    expect_completion(judge, step, cq, {status});
  }
}

rdma_event_channel* new_channel(Judge& judge) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  must(judge, "rdma_create_event_channel", errno_of(channel));
  return channel;
}

rdma_conn_param with_data(const std::string& data) {
  rdma_conn_param out{};
  out.private_data = data.data();
  out.private_data_len = static_cast<std::uint8_t>(data.size());
  return out;
}

rdma_cm_id* new_id(Judge& judge, rdma_event_channel* channel, rdma_port_space space) {
  rdma_cm_id* id = nullptr;
  must(judge, "rdma_create_id", errno_of(rdma_create_id(channel, &id, nullptr, space)));
  return id;
}

rdma_cm_id* new_resolving(Judge& judge, rdma_event_channel* channel, rdma_port_space space) {
  rdma_cm_id* const id = new_id(judge, channel, space);
  Address to(judge.address(), htons(kFreePort));
  must(judge, "rdma_resolve_addr", errno_of(rdma_resolve_addr(id, nullptr, to, kLimitMs)));
  return id;
}

rdma_cm_id* new_listener(Judge& judge, rdma_event_channel* channel, Address at, int backlog,
                         rdma_port_space space) {
  rdma_cm_id* const id = new_id(judge, channel, space);
  must(judge, "rdma_bind_addr", errno_of(rdma_bind_addr(id, at)));
  must(judge, "rdma_listen", errno_of(rdma_listen(id, backlog)));
  return id;
}

rdma_cm_id* new_client(Judge& judge, rdma_event_channel* channel, Address to, rdma_port_space space,
                       bool has_route) {
  rdma_cm_id* const id = new_id(judge, channel, space);
  must(judge, "rdma_resolve_addr", errno_of(rdma_resolve_addr(id, nullptr, to, kLimitMs)));
  await(judge, channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  if (!has_route) return id;
  must(judge, "rdma_resolve_route", errno_of(rdma_resolve_route(id, kLimitMs)));
  await(judge, channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

rdma_cm_id* new_connecting(Judge& judge, rdma_event_channel* channel, Address to,
                           rdma_port_space space) {
  rdma_cm_id* const id = new_client(judge, channel, to, space);
  create_qp(judge, id);
  must(judge, "rdma_connect", errno_of(rdma_connect(id, nullptr)));
  return id;
}

ibv_qp_init_attr qp_init(const rdma_cm_id* id) {
  ibv_qp_init_attr out{};
  out.cap = {.max_send_wr = 8,
             .max_recv_wr = 8,
             .max_send_sge = 2,
             .max_recv_sge = 2,
             .max_inline_data = 0};
  out.qp_type = id->qp_type;
  out.sq_sig_all = 1;
  return out;
}

void create_qp(Judge& judge, rdma_cm_id* id) {
  ibv_qp_init_attr init = qp_init(id);
  must(judge, "rdma_create_qp", errno_of(rdma_create_qp(id, nullptr, &init)));
}

ibv_qp_attr query(Judge& judge, ibv_qp* qp, int mask) {
  ibv_qp_attr out{};
  ibv_qp_init_attr init{};
  must(judge, "ibv_query_qp", errno_of(ibv_query_qp(qp, &out, mask, &init)));
  return out;
}

Ids::Ids(Judge& of, rdma_port_space space, bool client_has_qp)
    : judge(of),
      at_client(new_channel(of)),
      at_server(new_channel(of)),
      listener(new_listener(of, at_server, Address(of.address()), 8, space)),
      address(of.address(), rdma_get_src_port(listener)),
      client(new_client(of, at_client, address, space)) {
  if (client_has_qp) create_qp(judge, client);
}

void Ids::renew_client() {
  client = new_client(judge, at_client, address, listener->ps);
  create_qp(judge, client);
}

CmEvent Ids::request(rdma_conn_param* parameters) {
  must(judge, "rdma_connect", errno_of(rdma_connect(client, parameters)));
  CmEvent event = await(judge, at_server, RDMA_CM_EVENT_CONNECT_REQUEST);
  server = event.id;
  return event;
}

CmEvent Ids::accept(rdma_conn_param* parameters) {
  create_qp(judge, server);
  must(judge, "rdma_accept", errno_of(rdma_accept(server, parameters)));
  CmEvent event = await(judge, at_client, RDMA_CM_EVENT_ESTABLISHED);
  if (server->qp_type != IBV_QPT_UD) await(judge, at_server, RDMA_CM_EVENT_ESTABLISHED);
  return event;
}

}  // namespace iwarp::judge
