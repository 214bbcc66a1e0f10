// SPDX-License-Identifier: Apache-2.0
// Cases about the life of ids of rdma_cm: new ids, and destroying them in each state.
#include "judge/tools/ids.hpp"

#include <array>

#include "judge/cases/cases.hpp"

namespace iwarp::judge::cm_ids {
namespace {

void new_members(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  int context = 0;
  rdma_cm_id* id = nullptr;
  j.require("rdma_create_id", errno_of(rdma_create_id(channel, &id, &context, RDMA_PS_TCP)));
  j.expect_true("context", id->context == &context, "the pointer that was passed");
  j.expect_true("channel", id->channel == channel, "the channel that was passed");
  j.expect_equal("ps", id->ps, RDMA_PS_TCP);
  j.expect_equal("qp_type", id->qp_type, IBV_QPT_RC);
  j.expect_true("verbs, qp and event", id->verbs == nullptr && id->qp == nullptr, "null");
  j.expect_equal("port_num", id->port_num, 0);
  j.expect_equal("rdma_get_src_port", rdma_get_src_port(id), 0);
  j.expect_equal("rdma_get_dst_port", rdma_get_dst_port(id), 0);
  j.expect_equal("family of the local address", rdma_get_local_addr(id)->sa_family, 0);
  j.expect_equal("family of the peer's address", rdma_get_peer_addr(id)->sa_family, 0);
}

void unknown_space(Judge& j) {
  rdma_cm_id* id = nullptr;
  int unknown = 28836;
  const int code =
      rdma_create_id(new_channel(j), &id, nullptr, static_cast<rdma_port_space>(unknown));
  j.expect_true("rdma_create_id", code == -1 && errno != 0, "-1, and errno is set");
}

enum class State { kIdle, kBound, kAddress, kRoute, kListening, kConnecting, kRequested, kEnded };

template <State S>
void destroy(Judge& j) {
  Ids ids(j);
  rdma_cm_id* id = ids.client;
  if (S == State::kIdle || S == State::kBound) id = new_id(j, ids.at_client);
  Address at(j.address());
  if (S == State::kBound) must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, at)));
  if (S == State::kAddress) {
    id = new_client(j, ids.at_client, ids.address, RDMA_PS_TCP, false);
  }
  if (S == State::kListening) id = ids.listener;
  if (S == State::kConnecting || S == State::kRequested) ids.request();
  if (S == State::kRequested) id = ids.server;
  if (S == State::kEnded) {
    ids.connect();
    must(j, "rdma_disconnect", errno_of(rdma_disconnect(id)));
    await(j, ids.at_client, RDMA_CM_EVENT_DISCONNECTED);
  }
  if (id->qp != nullptr) rdma_destroy_qp(id);
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(id)));
}

void destroy_connected(Judge& j) {
  Ids ids(j);
  ids.connect();
  rdma_destroy_qp(ids.client);
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(ids.client)));
  expect_event(j, "event at the peer", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
}

void destroy_requested(Judge& j) {
  Ids ids(j);
  ids.request();
  must(j, "rdma_destroy_id", errno_of(rdma_destroy_id(ids.server)));
  const CmEvent event =
      expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_REJECTED});
  j.expect_true("its status", event.status != 0, "not 0");
}

void cancels(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_resolving(j, channel);
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(id)));
  expect_no_event(j, "events of the destroyed id", channel);
}

void cancels_connect(Judge& j) {
  Ids ids(j);
  must(j, "rdma_connect", errno_of(rdma_connect(ids.client, nullptr)));
  rdma_destroy_qp(ids.client);
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(ids.client)));
  expect_no_event(j, "events of the destroyed id", ids.at_client);
}

void discards_event(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_resolving(j, channel);
  j.require_true("the event is queued", is_readable(channel->fd, kLimit), "readable");
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(id)));
  j.expect_true("the channel is readable", !is_readable(channel->fd), "no, the event is gone");
}

void listener_discards(Judge& j) {
  Ids ids(j);
  must(j, "rdma_connect", errno_of(rdma_connect(ids.client, nullptr)));
  j.require_true("the request is queued", is_readable(ids.at_server->fd, kLimit), "readable");
  j.expect("rdma_destroy_id of the listener", errno_of(rdma_destroy_id(ids.listener)));
  expect_event(j, "event at the client", ids.at_client,
               {RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_UNREACHABLE});
}

void outlives_listener(Judge& j) {
  Ids ids(j);
  ids.request();
  must(j, "rdma_destroy_id", errno_of(rdma_destroy_id(ids.listener)));
  ids.accept();
  std::array<char, 8> out{"abc"};
  std::array<char, 8> in{};
  ibv_mr* const from = rdma_reg_msgs(ids.client, out.data(), out.size());
  ibv_mr* const to = rdma_reg_msgs(ids.server, in.data(), in.size());
  must(j, "rdma_post_recv", errno_of(rdma_post_recv(ids.server, nullptr, in.data(), 8, to)));
  j.expect("rdma_post_send", errno_of(rdma_post_send(ids.client, nullptr, out.data(), 3, from, 0)));
  expect_completion(j, "the receive", ids.server->recv_cq);
  j.expect_text("the message", in.data(), {"abc"});
}

void frees_port(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const first = new_listener(j, channel, Address(j.address()));
  Address same(j.address(), rdma_get_src_port(first));
  must(j, "rdma_destroy_id", errno_of(rdma_destroy_id(first)));
  j.expect("rdma_bind_addr to the same port", errno_of(rdma_bind_addr(new_id(j, channel), same)));
}

void outlived_by_qp(Judge& j) {
  Ids ids(j);
  std::array<char, 8> in{};
  ibv_mr* const mr = rdma_reg_msgs(ids.client, in.data(), in.size());
  int context = 0;
  must(j, "rdma_post_recv", errno_of(rdma_post_recv(ids.client, &context, in.data(), 8, mr)));
  ids.connect();
  ibv_qp* const qp = ids.client->qp;
  ibv_cq* const cq = ids.client->recv_cq;
  ids.client->qp = nullptr;
  must(j, "rdma_disconnect of the peer", errno_of(rdma_disconnect(ids.server)));
  await(j, ids.at_client, RDMA_CM_EVENT_DISCONNECTED);
  must(j, "rdma_destroy_id", errno_of(rdma_destroy_id(ids.client)));
  expect_completion(j, "the receive", cq, {IBV_WC_WR_FLUSH_ERR});
  j.expect("ibv_destroy_qp", errno_of(ibv_destroy_qp(qp)));
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/id/new", "RCM-25 RCM-26 RCM-45 RCM-46 RCM-47 RCM-48", "creates an rdma_cm_id without a device, a queue pair or an address", new_members, kCm},
    {"cm/id/unknown-space", "RCM-27", "refuses a port space that does not exist", unknown_space, kCm},
    {"cm/id/destroy-idle", "RCM-32", "destroys an idle rdma_cm_id", destroy<State::kIdle>, kCm},
    {"cm/id/destroy-bound", "RCM-32", "destroys a bound rdma_cm_id", destroy<State::kBound>, kCm},
    {"cm/id/destroy-address", "RCM-32", "destroys an rdma_cm_id whose address is resolved", destroy<State::kAddress>, kCm},
    {"cm/id/destroy-route", "RCM-32", "destroys an rdma_cm_id whose route is resolved", destroy<State::kRoute>, kCm},
    {"cm/id/destroy-listening", "RCM-32", "destroys a listening rdma_cm_id", destroy<State::kListening>, kCm},
    {"cm/id/destroy-connecting", "RCM-32", "destroys a connecting rdma_cm_id", destroy<State::kConnecting>, kCm},
    {"cm/id/destroy-requested", "RCM-32", "destroys the rdma_cm_id of a connection request", destroy<State::kRequested>, kCm},
    {"cm/id/destroy-ended", "RCM-32", "destroys a disconnected rdma_cm_id", destroy<State::kEnded>, kCm},
    {"cm/id/destroy-connected", "RCM-32 RCM-37", "ends the connection of a destroyed rdma_cm_id", destroy_connected, kCm},
    {"cm/id/destroy-rejects", "RCM-36", "rejects the connection request of a destroyed rdma_cm_id", destroy_requested, kCm},
    {"cm/id/destroy-cancels", "RCM-33", "reports no event of a destroyed rdma_cm_id", cancels, kCm},
    {"cm/id/destroy-cancels-connect", "RCM-33", "reports no event of an rdma_cm_id that was destroyed while it connected", cancels_connect, kCm},
    {"cm/id/destroy-discards", "RCM-35", "discards the queued events of a destroyed rdma_cm_id", discards_event, kCm},
    {"cm/id/listener-discards", "RCM-38", "discards the queued requests of a destroyed listener", listener_discards, kCm},
    {"cm/id/outlives-listener", "RCM-39", "keeps a connection usable after its listener is destroyed", outlives_listener, kCm},
    {"cm/id/frees-port", "RCM-40", "frees the port of a destroyed listener", frees_port, kCm},
    {"cm/id/outlived-by-qp", "RCM-41", "keeps a queue pair usable after its rdma_cm_id is destroyed", outlived_by_qp, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_ids

iwarp::judge::Table iwarp::judge::cm_ids_cases() { return cm_ids::kCases; }
