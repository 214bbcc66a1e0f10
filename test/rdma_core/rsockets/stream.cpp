// SPDX-License-Identifier: Apache-2.0
// Tests the byte stream: every byte must arrive once, unchanged and in order, for all sizes. Also
// tests how a stream ends.
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <string_view>
#include <thread>

#include "sockets.hpp"

namespace {

using namespace rsockets_test;

constexpr std::string_view kHello = "hello";

// [RCM-364, RCM-366, RCM-367]
TEST_CASE("both ends send, and the server may send first") {
  const Pair pair;
  CHECK(rsend(pair.server.get(), kHello.data(), kHello.size(), 0) == 5);
  CHECK(receive_text(pair.client) == kHello);
  CHECK(rwrite(pair.client.get(), "again", 5) == 5);
  std::array<char, 5> in{};
  CHECK(rread(pair.server.get(), in.data(), 3) == 3);
  CHECK(rread(pair.server.get(), in.data() + 3, 9) == 2);
  CHECK(std::string_view(in.data(), 5) == "again");
}

// [RCM-366]
TEST_CASE("a long stream in both directions at once, by four threads") {
  const Pair pair([](const Socket& socket) {
    set_number(socket, SOL_SOCKET, SO_SNDBUF, 8192);
    set_number(socket, SOL_SOCKET, SO_RCVBUF, 5000);
    set_number(socket, SOL_RDMA, RDMA_SQSIZE, 16);
    set_number(socket, SOL_RDMA, RDMA_RQSIZE, 16);
  });
  const auto there = pattern(3'000'000, 1);
  const auto back = pattern(3'000'000, 2);
  std::vector<std::uint8_t> got_there;
  std::vector<std::uint8_t> got_back;
  {
    std::jthread a([&] { send_all(pair.client, there); });
    std::jthread b([&] { send_all(pair.server, back); });
    std::jthread c([&] { got_there = receive_all(pair.server, there.size()); });
    std::jthread d([&] { got_back = receive_all(pair.client, back.size()); });
  }
  CHECK(got_there == there);
  CHECK(got_back == back);
}

TEST_CASE("more small messages than credits are sent, each with a different size") {
  const Pair pair([](const Socket& socket) { set_number(socket, SOL_RDMA, RDMA_RQSIZE, 16); });
  std::size_t total = 0;
  for (std::size_t size = 1; size <= 400; ++size) total += size;
  const auto all = pattern(total);
  std::jthread sender([&] {
    std::span left(all);
    for (std::size_t size = 1; size <= 400; ++size) {
      send_all(pair.client, left.first(size));
      left = left.subspan(size);
    }
  });
  CHECK(receive_all(pair.server, total) == all);
}

// [RCM-367]
TEST_CASE("buffers of a list form one stream") {
  const Pair pair;
  const auto sent = pattern(10'000);
  std::vector<iovec> from;
  std::size_t at = 0;
  for (const std::size_t length : {0U, 1U, 4000U, 0U, 5999U}) {
    from.push_back({const_cast<std::uint8_t*>(sent.data()) + at, length});
    at += length;
  }
  CHECK(rwritev(pair.client.get(), from.data(), static_cast<int>(from.size())) == 10'000);
  std::vector<std::uint8_t> got(10'000);
  std::array<iovec, 3> into{iovec{got.data(), 7}, iovec{got.data() + 7, 0},
                            iovec{got.data() + 7, 9'993}};
  msghdr message{.msg_iov = into.data(), .msg_iovlen = into.size()};
  CHECK(rrecvmsg(pair.server.get(), &message, MSG_WAITALL) == 10'000);
  CHECK(got == sent);
  message.msg_iovlen = 1;
  CHECK(rsendmsg(pair.server.get(), &message, 0) == 7);
  CHECK(rreadv(pair.client.get(), into.data(), 3) == 7);
  message.msg_control = got.data();
  message.msg_controllen = 16;
  CHECK(error_of(rsendmsg(pair.server.get(), &message, 0)) == ENOTSUP);
}

// [RCM-368]
TEST_CASE("peeked data stays in the stream") {
  const Pair pair;
  REQUIRE(rsend(pair.client.get(), kHello.data(), kHello.size(), 0) == 5);
  std::array<char, 5> in{};
  CHECK(rrecv(pair.server.get(), in.data(), 5, MSG_PEEK) == 5);
  CHECK(std::string_view(in.data(), 5) == kHello);
  CHECK(receive_text(pair.server) == kHello);
}

// [RCM-365, RCM-367]
TEST_CASE("rgetpeername() and rrecvfrom() return the peer's address") {
  const Pair pair;
  const auto at_client = place_of(pair.client);
  sockaddr_in at_server{};
  socklen_t size = sizeof at_server;
  REQUIRE(rgetpeername(pair.server.get(), reinterpret_cast<sockaddr*>(&at_server), &size) == 0);
  CHECK(at_client.sin_port == at_server.sin_port);
  CHECK(at_client.sin_addr.s_addr == at_server.sin_addr.s_addr);
  REQUIRE(rsendto(pair.client.get(), "x", 1, 0, nullptr, 0) == 1);
  sockaddr_storage from{};
  size = sizeof from;
  std::array<char, 1> in{};
  CHECK(rrecvfrom(pair.server.get(), in.data(), 1, 0, reinterpret_cast<sockaddr*>(&from), &size) ==
        1);
  CHECK(size == sizeof(sockaddr_in));
  CHECK(error_of(rsendto(pair.client.get(), "x", 1, 0, reinterpret_cast<sockaddr*>(&at_server),
                         size)) == EISCONN);
}

// [RCM-373]
TEST_CASE("after a shutdown of one direction the other still works") {
  const Pair pair;
  REQUIRE(rsend(pair.client.get(), kHello.data(), kHello.size(), 0) == 5);
  CHECK(rshutdown(pair.client.get(), SHUT_WR) == 0);
  CHECK(error_of(rsend(pair.client.get(), "x", 1, MSG_NOSIGNAL)) == EPIPE);
  CHECK(receive_text(pair.server) == kHello);
  CHECK(receive_text(pair.server).empty());
  REQUIRE(rsend(pair.server.get(), kHello.data(), kHello.size(), 0) == 5);
  CHECK(receive_text(pair.client) == kHello);
  CHECK(rshutdown(pair.server.get(), SHUT_WR) == 0);
  CHECK(receive_text(pair.client).empty());
}

// [RCM-374]
TEST_CASE("data sent before the shutdown is read after it") {
  Pair pair;
  const auto sent = pattern(100'000);
  send_all(pair.client, sent);
  REQUIRE(rclose(pair.client.release()) == 0);
  CHECK(receive_all(pair.server, sent.size()) == sent);
  CHECK(receive_text(pair.server).empty());
  CHECK(error_of(rsend(pair.server.get(), "x", 1, 0)) == ECONNRESET);
}

// [RCM-375, RCM-396]
TEST_CASE("a peer that closes without a shutdown is an error, not an end of file") {
  Pair pair;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  REQUIRE(rsetsockopt(pair.client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  REQUIRE(rclose(pair.client.release()) == 0);
  std::array<char, 1> in{};
  CHECK(error_of(rrecv(pair.server.get(), in.data(), 1, 0)) == ECONNRESET);
  CHECK(get_number(pair.server, SOL_SOCKET, SO_ERROR) == ECONNRESET);
  CHECK(get_number(pair.server, SOL_SOCKET, SO_ERROR) == 0);
}

// [RCM-395]
TEST_CASE("closing and shutting down wake blocked threads") {
  Pair pair;
  SUBCASE("local shutdown") {
    std::jthread reader([&] { CHECK(receive_text(pair.server).empty()); });
    CHECK(rshutdown(pair.server.get(), SHUT_RDWR) == 0);
  }
  SUBCASE("shutdown by the peer") {
    std::jthread reader([&] { CHECK(receive_text(pair.server).empty()); });
    REQUIRE(rclose(pair.client.release()) == 0);
  }
  SUBCASE("closing the listener") {
    const int number = pair.listener.get();
    std::atomic<bool> begun = false;
    std::jthread waiter([&] {
      begun = true;
      CHECK(error_of(raccept(number, nullptr, nullptr)) == EBADF);
    });
    while (!begun) std::this_thread::yield();
    REQUIRE(rclose(pair.listener.release()) == 0);
  }
}

// [RCM-371, RCM-394]
TEST_CASE("calls on a socket in a wrong state fail with the right error") {
  const Socket socket = make_socket();
  std::array<char, 1> in{};
  CHECK(error_of(rrecv(socket.get(), in.data(), 1, 0)) == ENOTCONN);
  CHECK(error_of(rsend(socket.get(), "x", 1, 0)) == ENOTCONN);
  CHECK(error_of(raccept(socket.get(), nullptr, nullptr)) == EINVAL);
  CHECK(error_of(try_connect(socket, loopback(1))) == ECONNREFUSED);
  const Pair pair;
  CHECK(error_of(rlisten(pair.server.get(), 1)) == EINVAL);
}

// [RCM-378]
TEST_CASE("a listener at :: accepts IPv4 unless IPV6_V6ONLY is set") {
  for (const int only : {0, 1}) {
    const Socket listener = make_socket(AF_INET6);
    set_number(listener, IPPROTO_IPV6, IPV6_V6ONLY, only);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    bind(listener, any);
    REQUIRE(rlisten(listener.get(), 8) == 0);
    any.sin6_port = place_of<sockaddr_in6>(listener).sin6_port;
    const Socket client = make_socket();
    const int result = try_connect(client, loopback(ntohs(any.sin6_port)));
    if (only != 0) CHECK(error_of(result) == ECONNREFUSED);
    if (only == 0) CHECK(result == 0);
    any.sin6_addr = in6addr_loopback;
    connect(make_socket(AF_INET6), any);
  }
}

// [RCM-363, RCM-388]
TEST_CASE("calls on a descriptor that is not an rsocket fail with the right error") {
  CHECK(error_of(rclose(123456)) == EBADF);
  CHECK(error_of(rsend(0, "x", 1, 0)) == EBADF);
  CHECK(error_of(rlisten(-1, 1)) == EBADF);
  CHECK(error_of(rsocket(AF_UNIX, SOCK_STREAM, 0)) == ENOTSUP);
}

TEST_CASE("many connections at once, each with its own octets") {
  const Socket listener = listening();
  constexpr unsigned kMany = 20;
  std::jthread server([&] {
    std::vector<std::jthread> each;
    for (unsigned i = 0; i < kMany; ++i) {
      each.emplace_back([socket = Socket(raccept(listener.get(), nullptr, nullptr))] {
        const auto number = receive_all(socket, 1);
        send_all(socket, pattern(50'000, number[0]));
      });
    }
  });
  std::vector<std::jthread> clients;
  for (unsigned i = 0; i < kMany; ++i) {
    clients.emplace_back([&, i] {
      const Socket socket = connect_to(port_of(listener));
      const std::array number{static_cast<std::uint8_t>(i)};
      send_all(socket, number);
      CHECK(receive_all(socket, 50'000) == pattern(50'000, i));
    });
  }
}

}  // namespace
