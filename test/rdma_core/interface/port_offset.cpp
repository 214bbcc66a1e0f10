// SPDX-License-Identifier: Apache-2.0
// Tests IWARP_PORT_OFFSET: TCP and RDMA on the same port number of one program, with one address
// family at a time. The library reads the variable once per process, so these cases are a separate
// program.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr std::uint16_t kOffset = 1000;
const int kSet = ::setenv("IWARP_PORT_OFFSET", "1000", 1);

std::uint16_t port_of(const sockaddr* address) {
  return ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
}

/// A plain TCP socket.
class Tcp {
 public:
  explicit Tcp(sa_family_t family) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(fd_ >= 0);
  }
  ~Tcp() { ::close(fd_); }
  Tcp(const Tcp&) = delete;
  Tcp& operator=(const Tcp&) = delete;

  bool listen(Address at) {
    return ::bind(fd_, at.get(), sizeof at.storage) == 0 && ::listen(fd_, 1) == 0;
  }
  bool connect(Address to) { return ::connect(fd_, to.get(), sizeof to.storage) == 0; }
  std::uint16_t port() const {
    sockaddr_storage out{};
    socklen_t size = sizeof out;
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&out), &size) == 0);
    return port_of(reinterpret_cast<const sockaddr*>(&out));
  }

 private:
  const int fd_;
};

struct Host {
  sa_family_t family;
  const char* address;
};
constexpr Host kHosts[] = {{AF_INET, "127.0.0.1"}, {AF_INET6, "::1"}};

struct Ends {
  End client, server;
};

Ends connect(const Channel& channel, Id client, const Channel& theirs) {
  Ends out{.client = {.id = std::move(client)}, .server = {}};
  make_queue_pair(out.client);
  REQUIRE(rdma_connect(out.client.id.get(), nullptr) == 0);
  out.server.id.reset(expect(theirs, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(out.server);
  REQUIRE(rdma_accept(out.server.id.get(), nullptr) == 0);
  expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  expect(theirs, RDMA_CM_EVENT_ESTABLISHED);
  return out;
}

// [RCM-46, RCM-104]
TEST_CASE("TCP and RDMA listen on one port number, in either order, and both are reachable") {
  for (const auto& [family, address] : kHosts) {
    for (const bool tcp_first : {true, false}) {
      CAPTURE(address);
      CAPTURE(tcp_first);
      const Channel theirs = make_channel();
      std::optional<Tcp> tcp;
      Id listener;
      const auto have_one_port = [&] {
        tcp.emplace(family);
        if (tcp_first) {
          REQUIRE(tcp->listen(Address(address)));
          listener = make_id(theirs);
          return rdma_bind_addr(listener.get(), Address(address, tcp->port()).get()) == 0;
        }
        listener = bound(theirs, Address(address));
        return tcp->listen(Address(address, port_of(listener)));
      };
      // The kernel chooses the port of the first socket. The other socket may find that port in
      // use, so the loop tries again.
      while (!have_one_port()) continue;
      const auto port = tcp->port();
      REQUIRE(rdma_listen(listener.get(), 4) == 0);
      CHECK(port_of(listener) == port);

      CHECK(Tcp(family).connect(Address(address, port)));
      const Channel mine = make_channel();
      const Ends ends = connect(mine, resolved(mine, Address(address, port)), theirs);
      CHECK(ntohs(rdma_get_dst_port(ends.client.id.get())) == port);
      CHECK(port_of(ends.server.id) == port);
      CHECK(port_of(rdma_get_peer_addr(ends.client.id.get())) == port);
      CHECK(port_of(rdma_get_local_addr(ends.server.id.get())) == port);
      CHECK(rdma_get_src_port(ends.client.id.get()) != 0);
      CHECK(rdma_get_src_port(ends.client.id.get()) == rdma_get_dst_port(ends.server.id.get()));
    }
  }
}

TEST_CASE("an RDMA listener occupies the TCP port at the offset, also on the wildcard address") {
  const Channel channel = make_channel();
  for (const char* any : {"0.0.0.0", "::"}) {
    CAPTURE(any);
    const Id listener = listening(channel, Address(any));
    const auto port = port_of(listener);
    CHECK_FALSE(Tcp(AF_INET).connect(Address("127.0.0.1", port)));
    CHECK(Tcp(AF_INET).connect(Address("127.0.0.1", port + kOffset)));
  }
}

// [RCM-73]
TEST_CASE("both sides see the source port that the program chose") {
  for (const auto& [family, address] : kHosts) {
    CAPTURE(address);
    const Channel theirs = make_channel();
    const Id listener = listening(theirs, Address(address));
    const Channel mine = make_channel();
    const Address to(address, port_of(listener));
    const std::uint16_t own = port_of(bound(mine, Address(address)));
    const Ends ends = connect(mine, resolved(mine, to, RDMA_PS_TCP, Address(address, own)), theirs);
    CHECK(port_of(ends.client.id) == own);
    CHECK(ntohs(rdma_get_dst_port(ends.server.id.get())) == own);
  }
}

// [RCM-3]
TEST_CASE("a port that the offset moves out of range is an invalid address for the call itself") {
  constexpr std::uint16_t kLast = 65535 - kOffset;
  const Channel channel = make_channel();
  for (const auto& [family, address] : kHosts) {
    CAPTURE(address);
    const Id id = make_id(channel);
    errno = 0;
    CHECK(error_of(rdma_bind_addr(id.get(), Address(address, kLast + 1).get())) == EADDRNOTAVAIL);
    errno = 0;
    CHECK(error_of(rdma_resolve_addr(id.get(), nullptr, Address(address, kLast + 1).get(), 1000)) ==
          EADDRNOTAVAIL);
    CHECK_FALSE(is_readable(channel->fd));
    REQUIRE(rdma_resolve_addr(id.get(), nullptr, Address(address, kLast).get(), 1000) == 0);
    expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    const Id last = make_id(channel);
    CHECK(rdma_bind_addr(last.get(), Address(address, kLast).get()) == 0);
  }
}

TEST_CASE("a TCP port in use is reported as in use, whatever the program's number for it is") {
  Tcp tcp(AF_INET);
  REQUIRE(tcp.listen(Address("127.0.0.1")));
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  errno = 0;
  const Address same("127.0.0.1", tcp.port() - kOffset);
  CHECK(error_of(rdma_bind_addr(id.get(), Address(same).get())) == EADDRINUSE);
}

// [RCM-64]
TEST_CASE("rdma_getaddrinfo does not change port numbers") {
  rdma_addrinfo hints{.ai_port_space = RDMA_PS_TCP};
  rdma_addrinfo* raw = nullptr;
  REQUIRE(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &raw) == 0);
  const std::unique_ptr<rdma_addrinfo, Destroyer> info(raw);
  CHECK(port_of(info->ai_dst_addr) == 7471);
}

TEST_CASE("queue pairs without rdma_cm do not use the offset") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  const Cq cq(ibv_create_cq(context.get(), 4, nullptr, nullptr, 0));
  ibv_qp_init_attr init{
      .send_cq = cq.get(), .recv_cq = cq.get(), .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  const Qp qp(ibv_create_qp(pd.get(), &init));
  REQUIRE(qp);
  // The port of the queue pair is reserved. Nothing listens on it until a queue pair waits for its
  // peer.
  CHECK_FALSE(Tcp(AF_INET).listen(Address("127.0.0.1", qp->qp_num & 0xFFFF)));
}

}  // namespace
