// SPDX-License-Identifier: Apache-2.0
// Cases about the ends of connections by rdma_cm.
#include <unistd.h>

#include <array>
#include <thread>

#include "command_line/child.hpp"
#include "command_line/error.hpp"
#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_disconnect {
namespace {

template <bool ByServer>
void disconnects(Judge& j) {
  Ids ids(j);
  ids.connect();
  rdma_cm_id* const first = ByServer ? ids.server : ids.client;
  rdma_cm_id* const other = ByServer ? ids.client : ids.server;
  j.expect("rdma_disconnect", errno_of(rdma_disconnect(first)));
  expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_DISCONNECTED});
  expect_event(j, "event at the server", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
  j.expect("rdma_disconnect of the other end", errno_of(rdma_disconnect(other)));
  expect_no_event(j, "another event at the client", ids.at_client);
  expect_no_event(j, "another event at the server", ids.at_server);
  j.expect("the first queue pair", query(j, first->qp, IBV_QP_STATE).qp_state, {IBV_QPS_ERR});
  rdma_destroy_qp(ids.client);
  rdma_destroy_qp(ids.server);
  for (rdma_cm_id* const id : {ids.client, ids.server, ids.listener}) {
    j.expect(id == ids.client   ? "rdma_destroy_id of the client"
             : id == ids.server ? "rdma_destroy_id of the server"
                                : "rdma_destroy_id of the listener",
             errno_of(rdma_destroy_id(id)));
  }
  rdma_destroy_event_channel(ids.at_server);
}

void both_disconnect(Judge& j) {
  Ids ids(j);
  ids.connect();
  std::thread other([&] { rdma_disconnect(ids.server); });
  j.expect("rdma_disconnect", errno_of(rdma_disconnect(ids.client)));
  other.join();
  expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_DISCONNECTED});
  expect_event(j, "event at the server", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
  expect_no_event(j, "another event at the client", ids.at_client);
  expect_no_event(j, "another event at the server", ids.at_server);
}

void flushes(Judge& j) {
  Ids ids(j);
  std::array<char, 8> in{};
  ibv_mr* const mr = rdma_reg_msgs(ids.client, in.data(), in.size());
  must(j, "rdma_post_recv", errno_of(rdma_post_recv(ids.client, nullptr, in.data(), 8, mr)));
  ids.connect();
  must(j, "rdma_disconnect", errno_of(rdma_disconnect(ids.client)));
  expect_completion(j, "the receive", ids.client->recv_cq, {IBV_WC_WR_FLUSH_ERR});
  await(j, ids.at_client, RDMA_CM_EVENT_DISCONNECTED);
  must(j, "rdma_post_recv", errno_of(rdma_post_recv(ids.client, nullptr, in.data(), 8, mr)));
  expect_completion(j, "a receive that is posted later", ids.client->recv_cq,
                    {IBV_WC_WR_FLUSH_ERR});
}

void refused(Judge& j) {
  Ids ids(j);
  rdma_cm_id* const id = new_id(j, ids.at_client);
  j.expect("on an idle id", errno_of(rdma_disconnect(id)), {EINVAL});
  Address at(j.address());
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, at)));
  j.expect("on a bound id", errno_of(rdma_disconnect(id)), {EINVAL});
  j.expect("on a resolved id", errno_of(rdma_disconnect(ids.client)), {EINVAL});
  j.expect("on a listening id", errno_of(rdma_disconnect(ids.listener)), {EINVAL});
}

void destroyed_qp(Judge& j) {
  Ids ids(j);
  ids.connect();
  rdma_destroy_qp(ids.client);
  j.expect_true("id->qp", ids.client->qp == nullptr, "null");
  // The kernel's CM does not watch the queue pair; the program ends the connection then.
  rdma_disconnect(ids.client);
  expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_DISCONNECTED});
  expect_event(j, "event at the server", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
}

// Accepts a connection and waits for its end by a signal. The error of a call ends the process, so
// the case fails because no port comes or because the connection is not established.
int accept_and_wait(Judge& j, int port_to) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const listener = new_listener(j, channel, Address(j.address()));
  const std::uint16_t port = rdma_get_src_port(listener);
  if (::write(port_to, &port, sizeof port) != sizeof port) return apps::kExitFailure;
  rdma_cm_id* const id = await(j, channel, RDMA_CM_EVENT_CONNECT_REQUEST).id;
  create_qp(j, id);
  rdma_accept(id, nullptr);
  for (;;) ::pause();
}

void killed_peer(Judge& j) {
  std::array<int, 2> port_pipe{};
  must(j, "pipe", errno_of(::pipe(port_pipe.data())));
  // The peer starts before this process opens the device. Threads of a provider might hold locks at
  // a later fork(), for example of the allocator that a sanitizer replaces.
  const apps::Child peer([&] { return accept_and_wait(j, port_pipe[1]); }, "fork");
  ::close(port_pipe[1]);
  j.require_needs(kCm);
  std::uint16_t port = 0;
  j.require_true("the peer listens", ::read(port_pipe[0], &port, sizeof port) == sizeof port,
                 "it listens");
  rdma_event_channel* const channel = new_channel(j);
  new_connecting(j, channel, Address(j.address(), port));
  await(j, channel, RDMA_CM_EVENT_ESTABLISHED);
  peer.kill();
  expect_event(j, "event", channel, {RDMA_CM_EVENT_DISCONNECTED});
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/disconnect/by-client", "RCM-330 RCM-335 RCM-336 RCM-344 RCM-332", "ends a connection when the client disconnects", disconnects<false>, kCm},
    {"cm/disconnect/by-server", "RCM-330 RCM-335 RCM-4", "ends a connection when the server disconnects", disconnects<true>, kCm},
    {"cm/disconnect/by-both", "RCM-336", "reports one DISCONNECTED to each end if both disconnect", both_disconnect, kCm},
    {"cm/disconnect/flush", "RCM-267 RCM-333 RCM-334", "flushes receives after rdma_disconnect()", flushes, kCm},
    {"cm/disconnect/refused", "RCM-337", "refuses rdma_disconnect() on an rdma_cm_id without a connection", refused, kCm},
    {"cm/disconnect/destroyed-qp", "RCM-216 RCM-214", "ends a connection with rdma_disconnect() after rdma_destroy_qp()", destroyed_qp, kCm},
    {"cm/disconnect/killed-peer", "RCM-340", "reports DISCONNECTED if the peer's process is killed", killed_peer},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_disconnect

iwarp::judge::Table iwarp::judge::cm_disconnect_cases() { return cm_disconnect::kCases; }
