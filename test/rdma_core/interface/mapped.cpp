// SPDX-License-Identifier: Apache-2.0
// Tests IPv4-mapped IPv6 addresses, which programs get from dual-stack sockets. The library treats
// them as IPv4 addresses.

#include <cerrno>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr std::string_view kMapped = "::ffff:127.0.0.1";

// [RCM-84]
TEST_CASE("an id binds to a mapped address, and clients reach it through either form") {
  const Channel server = make_channel();
  const Channel channel = make_channel();
  const Id listener = listening(server, Address(kMapped));
  CHECK(rdma_get_local_addr(listener.get())->sa_family == AF_INET);
  const std::uint16_t port = port_of(listener);
  CHECK(port != 0);
  for (const std::string_view host : {kMapped, std::string_view("127.0.0.1")}) {
    End client{.id = resolved(channel, Address(host, port))};
    CHECK(rdma_get_peer_addr(client.id.get())->sa_family == AF_INET);
    make_queue_pair(client);
    rdma_conn_param param{};
    REQUIRE(rdma_connect(client.id.get(), &param) == 0);
    const Id asked(expect(server, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    CHECK(rdma_reject(asked.get(), nullptr, 0) == 0);
    expect(channel, RDMA_CM_EVENT_REJECTED);
  }
}

// [RCM-84]
TEST_CASE("an id with a mapped source address resolves an IPv4 destination") {
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  REQUIRE(rdma_resolve_addr(id.get(), Address(kMapped).get(), Address("127.0.0.1", 7).get(),
                            kTimeoutMs) == 0);
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST_CASE("an id that is limited to IPv6 does not accept IPv4") {
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  int on = 1;
  REQUIRE(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof on) == 0);
  errno = 0;
  CHECK(error_of(rdma_bind_addr(id.get(), Address(kMapped).get())) == EADDRNOTAVAIL);
}

}  // namespace
