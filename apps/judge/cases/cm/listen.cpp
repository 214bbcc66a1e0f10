// SPDX-License-Identifier: Apache-2.0
// Cases about binding, listening, and the options of ids.
#include <unistd.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_listen {
namespace {

int set(rdma_cm_id* id, int option, int value) {
  return errno_of(rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof value));
}

/// Connects to `port` of the device by IPv4. Returns the channel of the client.
rdma_event_channel* connect_to(Judge& j, std::uint16_t port) {
  rdma_event_channel* const channel = new_channel(j);
  new_connecting(j, channel, Address(j.address(), port));
  return channel;
}

void bind_port(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  Address at(j.address());
  j.require("rdma_bind_addr, port 0", errno_of(rdma_bind_addr(id, at)));
  const std::uint16_t port = rdma_get_src_port(id);
  j.expect_true("rdma_get_src_port", port != 0, "a free port");
  j.expect_text("rdma_get_local_addr", host_of(rdma_get_local_addr(id)), {j.address()});
  j.expect("rdma_bind_addr again", errno_of(rdma_bind_addr(id, at)), {EINVAL});
  j.expect_true("the port afterwards", rdma_get_src_port(id) == port, "the first port");
  Address same(j.address(), port);
  rdma_cm_id* const other = new_id(j, channel);
  j.expect("another id, the same port", errno_of(rdma_bind_addr(other, same)), {EADDRINUSE});
  Address any("0.0.0.0", port);
  j.expect("another id, the wildcard and the port", errno_of(rdma_bind_addr(other, any)),
           {EADDRINUSE, EADDRNOTAVAIL});
  rdma_destroy_id(id);
  j.expect("the port after its id was destroyed", errno_of(rdma_bind_addr(other, same)));
  j.expect_true("rdma_get_src_port of the other id", rdma_get_src_port(other) == port, "the port");
}

void bind_device(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  Address at(j.address());
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, at)));
  if (j.address().starts_with("127.")) j.not_applicable("the device has a loopback address");
  j.require_true("id->verbs", id->verbs != nullptr, "set");
  j.expect_equal("id->port_num", id->port_num, j.port());
}

void bind_refused(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  Address foreign("192.0.2.77");
  j.expect("without an address", errno_of(rdma_bind_addr(id, nullptr)), {EINVAL});
  j.expect("address of another host", errno_of(rdma_bind_addr(id, foreign)), {EADDRNOTAVAIL});
  Address at(j.address());
  j.expect("address of the device, then", errno_of(rdma_bind_addr(id, at)));
}

void bind_wildcard(Judge& j) {
  for (const char* const host : {"0.0.0.0", "::"}) {
    rdma_cm_id* const id = new_id(j, new_channel(j));
    Address any(host);
    j.expect(std::string("rdma_bind_addr ") + host, errno_of(rdma_bind_addr(id, any)));
    j.expect_true(std::string("id->verbs of ") + host, id->verbs == nullptr, "null");
  }
}

void privileged_port(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  must(j, "setuid", errno_of(::setresuid(65534, 65534, 65534)));
  Address low(j.address(), htons(80));
  j.expect("rdma_bind_addr, port 80", errno_of(rdma_bind_addr(id, low)), {EACCES});
}

void listen_alone(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  j.require("rdma_listen on a new id", errno_of(rdma_listen(id, 1)));
  j.require_true("rdma_get_src_port", rdma_get_src_port(id) != 0, "a free port");
  j.expect("rdma_listen again", errno_of(rdma_listen(id, 1)), {EINVAL});
  connect_to(j, rdma_get_src_port(id));
  expect_event(j, "event at the listener", channel, {RDMA_CM_EVENT_CONNECT_REQUEST});
}

void listen_late(Judge& j) {
  Ids ids(j);
  j.expect("on a resolved id", errno_of(rdma_listen(ids.client, 1)), {EINVAL});
  ids.connect();
  j.expect("on a connected id", errno_of(rdma_listen(ids.client, 1)), {EINVAL});
  j.expect("on the server's id", errno_of(rdma_listen(ids.server, 1)), {EINVAL});
}

void listen_elsewhere(Judge& j) {
  // Another address of this host, which needs no device.
  rdma_cm_id* const id = new_id(j, new_channel(j));
  Address at(j.address() == "127.0.0.1" ? "127.0.0.2" : "127.0.0.1");
  if (rdma_bind_addr(id, at) != 0 || rdma_listen(id, 1) != 0) {
    j.not_applicable("the device does not listen at a loopback address");
  }
  rdma_event_channel* const client = connect_to(j, rdma_get_src_port(id));
  expect_event(j, "event at the client", client, {RDMA_CM_EVENT_REJECTED});
}

template <bool IsV4Too>
void listen_v6(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  if (!IsV4Too) j.expect("AFONLY on an idle id", set(id, RDMA_OPTION_ID_AFONLY, 1));
  Address any("::");
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, any)));
  must(j, "rdma_listen", errno_of(rdma_listen(id, 1)));
  rdma_event_channel* const client = connect_to(j, rdma_get_src_port(id));
  if (IsV4Too) {
    expect_event(j, "event at the listener", channel, {RDMA_CM_EVENT_CONNECT_REQUEST});
  } else {
    expect_event(j, "event at the client", client, {RDMA_CM_EVENT_REJECTED});
  }
}

void backlog(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const one = new_listener(j, channel, Address(j.address()), 1);
  for (const char* const step : {"first request", "second request", "third request"}) {
    connect_to(j, rdma_get_src_port(one));
    expect_event(j, step, channel, {RDMA_CM_EVENT_CONNECT_REQUEST});
  }
  rdma_cm_id* const zero = new_listener(j, channel, Address(j.address()), 0);
  connect_to(j, rdma_get_src_port(zero));
  expect_event(j, "request with backlog 0", channel, {RDMA_CM_EVENT_CONNECT_REQUEST});
}

void afonly_state(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  Address any("::");
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, any)));
  j.expect("on a bound id", set(id, RDMA_OPTION_ID_AFONLY, 1));
  must(j, "rdma_listen", errno_of(rdma_listen(id, 1)));
  j.expect("on a listening id", set(id, RDMA_OPTION_ID_AFONLY, 1), {EINVAL});
}

void afonly_after_bind(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  Address any("::");
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, any)));
  j.require("AFONLY on a bound id", set(id, RDMA_OPTION_ID_AFONLY, 1));
  must(j, "rdma_listen", errno_of(rdma_listen(id, 1)));
  rdma_event_channel* const client = connect_to(j, rdma_get_src_port(id));
  expect_event(j, "event at a client by IPv4", client, {RDMA_CM_EVENT_REJECTED});
}

template <bool IsSetLate>
void reuse(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const first = new_id(j, channel);
  rdma_cm_id* const second = new_id(j, channel);
  Address at(j.address());
  if (!IsSetLate) j.expect("option of the first id", set(first, RDMA_OPTION_ID_REUSEADDR, 1));
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(first, at)));
  if (IsSetLate) j.expect("option of the bound id", set(first, RDMA_OPTION_ID_REUSEADDR, 1));
  Address same(j.address(), rdma_get_src_port(first));
  j.expect("rdma_bind_addr without the option", errno_of(rdma_bind_addr(second, same)),
           {EADDRINUSE});
  j.expect("option of the second id", set(second, RDMA_OPTION_ID_REUSEADDR, 1));
  j.require("rdma_bind_addr with the option", errno_of(rdma_bind_addr(second, same)));
  j.expect("rdma_listen while both are bound", errno_of(rdma_listen(first, 1)), {EADDRINUSE});
  rdma_destroy_id(second);
  j.expect("rdma_listen of the one that remains", errno_of(rdma_listen(first, 1)));
}

void option_sizes(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  int value = 0;
  const auto set_sized = [&](int level, int name, std::size_t size) {
    return errno_of(rdma_set_option(id, level, name, &value, size));
  };
  j.expect("TOS, 1 byte", set_sized(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1));
  j.expect("TOS, 4 bytes", set_sized(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 4), {EINVAL});
  j.expect("REUSEADDR, 1 byte", set_sized(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1), {EINVAL});
  j.expect("AFONLY, 1 byte", set_sized(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 1), {EINVAL});
  j.expect("ACK_TIMEOUT, 4 bytes", set_sized(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 4),
           {EINVAL});
  j.expect("level 7", set_sized(7, 1, 4), {ENOSYS});
  j.expect("name 1000", set_sized(RDMA_OPTION_ID, 1000, 4), {ENOSYS});
}

void ack_timeout(Judge& j) {
  Ids ids(j);
  std::uint8_t value = 14;
  const auto set_timeout = [&] {
    return errno_of(rdma_set_option(ids.client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &value,
                                    sizeof value));
  };
  j.expect("14", set_timeout());
  ids.connect();
  j.expect_equal("timeout of the queue pair", query(j, ids.client->qp, IBV_QP_TIMEOUT).timeout, 14);
  value = 32;
  j.expect("32", set_timeout(), {EINVAL});
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/bind/port", "RCM-93 RCM-94 RCM-100 RCM-101 RCM-40", "binds only one rdma_cm_id to a port", bind_port, kCm},
    {"cm/bind/device", "RCM-95", "binds an rdma_cm_id to the device of its address", bind_device, kCm},
    {"cm/bind/refused", "RCM-98 RCM-99", "refuses to bind to an address of another host", bind_refused, kCm},
    {"cm/bind/wildcard", "RCM-96", "binds an rdma_cm_id to a wildcard address, but to no device", bind_wildcard, kCm},
    {"cm/bind/privileged", "RCM-103", "refuses to bind to a port below 1024 without privilege", privileged_port, kCm},
    {"cm/listen/unbound", "RCM-109 RCM-110 RCM-107 RCM-105", "binds an unbound rdma_cm_id to a free port in rdma_listen()", listen_alone, kCm},
    {"cm/listen/late", "RCM-110", "refuses rdma_listen() on an rdma_cm_id that is resolved or connected", listen_late, kCm},
    {"cm/listen/elsewhere", "RCM-106", "rejects a connection request to an address on which no rdma_cm_id listens", listen_elsewhere, kCm},
    {"cm/listen/both-families", "RCM-108", "accepts IPv4 connections on a listener bound to ::", listen_v6<true>, kCm},
    {"cm/listen/one-family", "RCM-314 RCM-108", "rejects IPv4 connections on a listener with RDMA_OPTION_ID_AFONLY", listen_v6<false>, kCm},
    {"cm/listen/backlog", "RCM-112 RCM-113", "reports more connection requests than the backlog of rdma_listen()", backlog, kCm},
    {"cm/option/afonly-state", "RCM-315", "permits RDMA_OPTION_ID_AFONLY only before rdma_listen()", afonly_state, kCm},
    {"cm/option/afonly-bound", "RCM-315 RCM-314", "rejects IPv4 connections if RDMA_OPTION_ID_AFONLY was set after rdma_bind_addr()", afonly_after_bind, kCm},
    {"cm/option/reuse", "RCM-310 RCM-311 RCM-312", "binds two rdma_cm_ids to one port with REUSEADDR, but lets neither listen", reuse<false>, kCm},
    {"cm/option/reuse-late", "RCM-316", "permits RDMA_OPTION_ID_REUSEADDR on a bound rdma_cm_id", reuse<true>, kCm},
    {"cm/option/size", "RCM-309 RCM-313 RCM-318 RCM-320", "refuses unknown options and wrong lengths in rdma_set_option()", option_sizes, kCm},
    {"cm/option/ack-timeout", "RCM-317 RCM-318", "sets the timeout of the queue pair by RDMA_OPTION_ID_ACK_TIMEOUT", ack_timeout, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_listen

iwarp::judge::Table iwarp::judge::cm_listen_cases() { return cm_listen::kCases; }
