// SPDX-License-Identifier: Apache-2.0
// Tests rdma_cm with event channels: addresses and ports, peers of other programs, and the end of
// connections. readiness.cpp tests ids that migrate.
#include <ifaddrs.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <sys/syscall.h>

#include <atomic>
#include <bit>
#include <held_clock.hpp>
#include <thread>

#include "../support/raw_client.hpp"
#include "endpoint.hpp"

static std::atomic<int> connects{0};  ///< number of calls to connect() that have returned

// Overrides the function of the C library.
extern "C" int connect(int fd, const sockaddr* to, socklen_t length) {
  const auto result = ::syscall(SYS_connect, fd, to, length);
  ++connects;
  return static_cast<int>(result);
}

namespace {

using namespace rdma_core_test;

const std::string kPlainRequest("MPA ID Req Frame\x40\x01\0\0", 20);

/// Returns an address at which other hosts can reach this host, or nullopt if there is none.
std::optional<Address> outer_address() {
  ifaddrs* all = nullptr;
  REQUIRE(::getifaddrs(&all) == 0);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    Address out("0.0.0.0");
    std::memcpy(out.get(), entry->ifa_addr, sizeof(sockaddr_in));
    return out;
  }
  return std::nullopt;
}

// [RCM-111]
TEST_CASE("as many requests as the backlog wait for the program, and no more") {
  const Channel channel = make_channel();
  const Id listener = listening(channel, Address("127.0.0.1"), 2);
  for (int i = 0; i < 12; ++i) {
    const RawClient peer(port_of(listener));
    peer.send(kPlainRequest);
    // The backlog is 2, so the listener resets the later requests. The first two requests are in
    // its queue, or will be soon.
    if (i >= 2) CHECK(peer.is_reset());
  }
  for (int i = 0; i < 2; ++i) {
    const Id child(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  }
  CHECK_FALSE(is_readable(channel->fd));
}

// [RCM-1, RCM-27, RCM-28, RCM-30]
TEST_CASE("port spaces that are not supported are refused") {
  const auto unknown = std::bit_cast<rdma_port_space>(0x150);
  for (const rdma_port_space space : {unknown, RDMA_PS_IB, RDMA_PS_UDP, RDMA_PS_IPOIB}) {
    CAPTURE(space);
    rdma_cm_id* id = nullptr;
    CHECK(error_of(rdma_create_id(nullptr, &id, nullptr, space)) == EPROTONOSUPPORT);
    CHECK(id == nullptr);
  }
}

// [RCM-94, RCM-95, RCM-96, RCM-97]
TEST_CASE("an id has no device while it is bound to a wildcard or loopback address") {
  const Channel channel = make_channel();
  for (const char* host : {"0.0.0.0", "::", "127.0.0.1", "127.0.0.9", "::1"}) {
    const Id id = bound(channel, Address(host));
    CHECK(id->verbs == nullptr);
    CHECK(rdma_get_src_port(id.get()) != 0);
  }
  if (auto address = outer_address()) {
    const Id id = bound(channel, *address);
    CHECK(id->verbs != nullptr);
    CHECK(id->port_num == 1);
    CHECK(rdma_get_src_port(id.get()) != 0);
  }
}

TEST_CASE("an id that could not listen can listen after the other listener is gone") {
  const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  constexpr int kOn = 1;
  for (const int option : {SO_REUSEADDR, SO_REUSEPORT}) {
    REQUIRE(::setsockopt(other, SOL_SOCKET, option, &kOn, sizeof kOn) == 0);
  }
  Address at("127.0.0.1");
  socklen_t size = sizeof(sockaddr_in);
  REQUIRE(::bind(other, at.get(), size) == 0);
  REQUIRE(::getsockname(other, at.get(), &size) == 0);
  const Channel channel = make_channel();
  const Id id = bound(channel, at);
  REQUIRE(::listen(other, 1) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(error_of(rdma_listen(id.get(), 1)) == EADDRINUSE);
  }
  ::close(other);
  CHECK(rdma_listen(id.get(), 1) == 0);
}

// [RCM-139]
TEST_CASE("a client finds a server that begins to listen a moment later") {
  const Channel theirs = make_channel();
  const Id late = bound(theirs, Address("127.0.0.1"));
  const Channel channel = make_channel();
  const Id client = resolved(channel, Address("127.0.0.1", port_of(late)));
  ibv_qp_init_attr init{.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  REQUIRE(rdma_create_qp(client.get(), nullptr, &init) == 0);
  rdma_conn_param param{.retry_count = 7};
  {
    // The library retries the connection for 250 ms. The held clock advances by at most 100 ms
    // here, even if the scheduler delays this program.
    const iwarp::test::HeldClock clock(std::chrono::milliseconds(100));
    const int before = connects.load();
    REQUIRE(rdma_connect(client.get(), &param) == 0);
    // Waits until the connection has been refused once.
    while (connects.load() == before) std::this_thread::yield();
    REQUIRE(rdma_listen(late.get(), 1) == 0);
  }
  const Event request = expect(theirs, RDMA_CM_EVENT_CONNECT_REQUEST);
  const Id server(request->id);
}

// [RCM-121]
TEST_CASE("a disconnect event precedes a later request to the listener, whether polled or not") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "x");
  const Buffer in(pair.server.pd.get(), 8);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  REQUIRE(pair.client.send(out.sge()) == 0);
  End::done(pair.client.send_cq);
  REQUIRE(rdma_disconnect(pair.client.id.get()) == 0);
  expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED);
  const RawClient peer(pair.port);
  peer.send(kPlainRequest);
  expect(pair.server_channel, RDMA_CM_EVENT_DISCONNECTED);
  const Event event = expect(pair.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
  const Id child(event->id);
  End::done(pair.server.receive_cq);
}

}  // namespace
