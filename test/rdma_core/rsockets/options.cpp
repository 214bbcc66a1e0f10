// SPDX-License-Identifier: Apache-2.0
// Tests socket options: a value can be read back as it was set, and sizes take effect when the
// socket connects.
#include <fcntl.h>
#include <netinet/tcp.h>

#include <utility>

#include "sockets.hpp"

namespace {

using namespace rsockets_test;

TEST_CASE("defaults are those of rsockets") {
  const Socket socket = make_socket();
  CHECK(get_number(socket, SOL_RDMA, RDMA_SQSIZE) == 384);
  CHECK(get_number(socket, SOL_RDMA, RDMA_RQSIZE) == 384);
  CHECK(get_number(socket, SOL_RDMA, RDMA_INLINE) == 64);
  CHECK(get_number(socket, SOL_RDMA, RDMA_IOMAPSIZE) == 0);
  CHECK(get_number(socket, SOL_SOCKET, SO_SNDBUF) == 1 << 17);
  CHECK(get_number(socket, SOL_SOCKET, SO_RCVBUF) == 1 << 17);
  CHECK(get_number(socket, SOL_SOCKET, SO_TYPE) == SOCK_STREAM);
  CHECK(get_number(socket, SOL_SOCKET, SO_DOMAIN) == AF_INET);
}

// [RCM-376, RCM-379]
TEST_CASE("options can be read back as they were set") {
  const Socket socket = make_socket(AF_INET6);
  for (const auto& [level, name, value] : {std::tuple{SOL_SOCKET, SO_KEEPALIVE, 1},
                                           {SOL_SOCKET, SO_OOBINLINE, 1},
                                           {SOL_SOCKET, SO_REUSEADDR, 1},
                                           {IPPROTO_TCP, TCP_NODELAY, 1},
                                           {IPPROTO_TCP, TCP_KEEPIDLE, 33},
                                           {IPPROTO_IP, IP_TOS, 8},
                                           {IPPROTO_IPV6, IPV6_V6ONLY, 1},
                                           {SOL_RDMA, RDMA_SQSIZE, 100},
                                           {SOL_RDMA, RDMA_RQSIZE, 101},
                                           {SOL_RDMA, RDMA_INLINE, 102},
                                           {SOL_RDMA, RDMA_IOMAPSIZE, 103}}) {
    INFO(level, " ", name);
    set_number(socket, level, name, value);
    CHECK(get_number(socket, level, name) == value);
  }
  for (const int name : {SO_SNDBUF, SO_RCVBUF}) {
    set_number(socket, SOL_SOCKET, name, 10'000);
    CHECK(get_number(socket, SOL_SOCKET, name) == 20'000);
  }
  set_number(socket, IPPROTO_TCP, TCP_MAXSEG, 1000);
  CHECK(get_number(socket, IPPROTO_TCP, TCP_MAXSEG) == 2048);  // RDMA segments messages by itself
  CHECK(get_number(socket, SOL_SOCKET, SO_ERROR) == 0);
  const linger wanted{.l_onoff = 1, .l_linger = 3};
  REQUIRE(rsetsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wanted, sizeof wanted) == 0);
  linger got{};
  socklen_t size = sizeof got;
  REQUIRE(rgetsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &got, &size) == 0);
  CHECK(got.l_linger == 3);
  CHECK(rfcntl(socket.get(), F_SETFD, FD_CLOEXEC) == 0);
  CHECK(rfcntl(socket.get(), F_GETFD) == FD_CLOEXEC);
  CHECK(error_of(rfcntl(socket.get(), F_GETOWN)) == ENOTSUP);
}

// [RCM-379]
TEST_CASE("sizes cannot change once the socket is connected, and are inherited from the listener") {
  const Pair pair([](const Socket& socket) {
    set_number(socket, SOL_RDMA, RDMA_SQSIZE, 50);
    // The size 1 is too small, so the socket uses its minimum.
    set_number(socket, SOL_RDMA, RDMA_RQSIZE, 1);
  });
  CHECK(get_number(pair.server, SOL_RDMA, RDMA_SQSIZE) == 50);
  CHECK(get_number(pair.server, SOL_RDMA, RDMA_RQSIZE) == 16);
  const int more = 60;
  CHECK(error_of(rsetsockopt(pair.server.get(), SOL_RDMA, RDMA_SQSIZE, &more, sizeof more)) ==
        EINVAL);
  tcp_info info{};
  socklen_t size = sizeof info;
  CHECK(rgetsockopt(pair.server.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
  CHECK(info.tcpi_state == TCP_ESTABLISHED);
}

// [RCM-377, RCM-380]
TEST_CASE("unknown options are refused, and so are values that are too short") {
  const Socket socket = make_socket();
  int value = 1;
  socklen_t size = sizeof value;
  for (const auto& [level, name] : {std::pair{SOL_SOCKET, SO_MARK},
                                    {SOL_RDMA, RDMA_ROUTE},
                                    {SOL_RDMA, 99},
                                    {IPPROTO_UDP, 1},
                                    {IPPROTO_TCP, 99}}) {
    CHECK(error_of(rsetsockopt(socket.get(), level, name, &value, sizeof value)) == ENOTSUP);
    CHECK(error_of(rgetsockopt(socket.get(), level, name, &value, &size)) == ENOTSUP);
  }
  CHECK(error_of(rsetsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &value, 2)) == EINVAL);
}

TEST_CASE("an RNIC has no datagram sockets") {
  CHECK(error_of(rsocket(AF_INET, SOCK_DGRAM, 0)) == ENOTSUP);
}

TEST_CASE("an idle connection is kept alive by Writes that the peer does not see") {
  const Pair pair;
  set_number(pair.client, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set_number(pair.client, SOL_SOCKET, SO_KEEPALIVE, 1);
  CHECK(await(pair.server, POLLIN, 1500) == 0);
  REQUIRE(rsend(pair.client.get(), "x", 1, 0) == 1);
  CHECK(receive_text(pair.server) == "x");
}

}  // namespace
