// SPDX-License-Identifier: Apache-2.0
// Tests rdma_cm with event channels: addresses and ports, private data, and the end of connections.
// numbers.cpp tests rejections, and readiness.cpp ids that migrate.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
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

// [RCM-26, RCM-45, RCM-46, RCM-47, RCM-48]
TEST_CASE("a new id has no device, queue pair, port or addresses") {
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  CHECK(id->verbs == nullptr);
  CHECK(id->qp == nullptr);
  CHECK(id->qp_type == IBV_QPT_RC);
  CHECK(rdma_get_src_port(id.get()) == 0);
  CHECK(rdma_get_dst_port(id.get()) == 0);
  const sockaddr_storage zeroes{};
  for (const sockaddr* address : {rdma_get_local_addr(id.get()), rdma_get_peer_addr(id.get())}) {
    CHECK(std::memcmp(address, &zeroes, sizeof zeroes) == 0);
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

// [RCM-1, RCM-98, RCM-99]
TEST_CASE("addresses of other hosts or of another kind cannot be bound") {
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  for (const char* const address : {"192.0.2.77", "::ffff:192.0.2.77"}) {
    errno = 0;
    CHECK(error_of(rdma_bind_addr(id.get(), Address(address).get())) == EADDRNOTAVAIL);
  }
  CHECK(error_of(rdma_bind_addr(id.get(), nullptr)) == EINVAL);
  sockaddr_ib infiniband{};
  infiniband.sib_family = AF_IB;
  errno = 0;
  CHECK(rdma_bind_addr(id.get(), reinterpret_cast<sockaddr*>(&infiniband)) == -1);
  CHECK(errno != 0);
}

// [RCM-40, RCM-100]
TEST_CASE("a port in use cannot be bound until its socket is gone, and the call itself fails") {
  const Channel channel = make_channel();
  Id listener = listening(channel);
  const std::uint16_t port = port_of(listener);
  const auto error_at = [&](std::uint16_t number) {
    const Id id = make_id(channel);
    errno = 0;
    if (rdma_bind_addr(id.get(), Address("127.0.0.1", number).get()) != 0) return errno;
    return rdma_listen(id.get(), 1) == 0 ? 0 : errno;
  };
  CHECK(error_at(port) == EADDRINUSE);
  listener.reset();
  CHECK(error_at(port) == 0);

  Address plain("127.0.0.1");
  socklen_t length = sizeof(sockaddr_in);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(socket, plain.get(), length) == 0);
  REQUIRE(::listen(socket, 1) == 0);
  REQUIRE(::getsockname(socket, plain.get(), &length) == 0);
  const auto taken = ntohs(reinterpret_cast<sockaddr_in&>(plain.storage).sin_port);
  CHECK(error_at(taken) == EADDRINUSE);
  ::close(socket);
  CHECK(error_at(taken) == 0);
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

// [RCM-160, RCM-161]
TEST_CASE("private data goes both ways") {
  const Pair pair({.request_data = "from the client", .accept_data = "from the server"});
  CHECK(pair.request_data.substr(0, 15) == "from the client");
  CHECK(pair.accept_data.substr(0, 15) == "from the server");
}

// [RCM-117]
TEST_CASE("an id has the context that its listener has when the program reads the request event") {
  Meeting meeting;
  make_queue_pair(meeting.client);
  REQUIRE(rdma_connect(meeting.client.id.get(), nullptr) == 0);
  int early = 0;
  int context = 0;
  do {
    meeting.listener->context = &early;
  } while (!is_readable(meeting.server_channel->fd));
  meeting.listener->context = &context;
  const Event request = expect(meeting.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
  const Id server(request->id);
  CHECK(server->context == &context);
  CHECK(server->ps == RDMA_PS_TCP);
  CHECK(server->qp_type == IBV_QPT_RC);
  CHECK(server->channel == meeting.server_channel.get());
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

// [RCM-200, RCM-332]
TEST_CASE("a queue pair that closes is in SQD or in ERR") {
  Pair pair;
  const auto state = [&] { return query(pair.client.id->qp).qp_state; };
  CHECK(state() == IBV_QPS_RTS);
  REQUIRE(rdma_disconnect(pair.client.id.get()) == 0);
  const auto closing = state();
  CHECK((closing == IBV_QPS_SQD || closing == IBV_QPS_ERR));
  expect(pair.channel, RDMA_CM_EVENT_DISCONNECTED);
  CHECK(state() == IBV_QPS_ERR);
}

std::unique_ptr<rdma_addrinfo, Destroyer> addresses(const char* node, const char* service,
                                                    const rdma_addrinfo& hints) {
  rdma_addrinfo* out = nullptr;
  CHECK(rdma_getaddrinfo(node, service, &hints, &out) == 0);
  return std::unique_ptr<rdma_addrinfo, Destroyer>(out);
}

// [RCM-52]
TEST_CASE("without a name rdma_getaddrinfo returns the hints' values") {
  Address source("127.0.0.1", 7777);
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_family = AF_INET;
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_qp_type = IBV_QPT_RC;
  hints.ai_src_addr = source.get();
  hints.ai_src_len = sizeof(sockaddr_in);
  auto out = addresses(nullptr, nullptr, hints);
  REQUIRE(out);
  CHECK(out->ai_family == AF_INET);
  CHECK(out->ai_src_len == sizeof(sockaddr_in));
  REQUIRE(out->ai_src_addr != nullptr);
  CHECK(out->ai_src_addr != source.get());
  CHECK(std::memcmp(out->ai_src_addr, source.get(), sizeof(sockaddr_in)) == 0);

  hints.ai_family = 0;
  hints.ai_flags = 0;
  hints.ai_dst_addr = source.get();
  hints.ai_dst_len = sizeof(sockaddr_in);
  out = addresses(nullptr, nullptr, hints);
  REQUIRE(out);
  CHECK(out->ai_family == AF_INET);
  REQUIRE(out->ai_dst_addr != nullptr);
}

// [RCM-50, RCM-51, RCM-56, RCM-60, RCM-61]
TEST_CASE("rdma_getaddrinfo resolves names for active and passive sides") {
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_TCP;
  auto out = addresses("127.0.0.1", "7471", hints);
  REQUIRE(out);
  REQUIRE(out->ai_dst_addr != nullptr);
  CHECK(reinterpret_cast<sockaddr_in*>(out->ai_dst_addr)->sin_port == htons(7471));
  CHECK(out->ai_qp_type == IBV_QPT_RC);
  CHECK(out->ai_port_space == RDMA_PS_TCP);
  hints.ai_flags = RAI_PASSIVE;
  out = addresses(nullptr, "7471", hints);
  REQUIRE(out);
  REQUIRE(out->ai_src_addr != nullptr);
  CHECK(out->ai_dst_len == 0);
  rdma_addrinfo* none = nullptr;
  CHECK(rdma_getaddrinfo("no-such-host.invalid", "1", &hints, &none) != 0);
}

// [RCM-121]
TEST_CASE(
    "a disconnect event comes before a later request to the listener, whether polled or not") {
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
