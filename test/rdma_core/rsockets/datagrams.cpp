// SPDX-License-Identifier: Apache-2.0
// Tests datagram rsockets as programs use them. Message boundaries must be kept, whether a message
// is sent over UDP or through a queue pair.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "datagram_sockets.hpp"

namespace {

using namespace rsockets_test;

std::string text_of(std::size_t size, unsigned seed) {
  const auto octets = pattern(size, seed);
  return {octets.begin(), octets.end()};
}

bool same_place(const sockaddr_in& a, const sockaddr_in& b) {
  return a.sin_addr.s_addr == b.sin_addr.s_addr && a.sin_port == b.sin_port;
}

// [RCM-362, RCM-389]
TEST_CASE("messages keep their boundaries, and the receiver gets the sender's address") {
  const DatagramPair pair;
  const auto client_place = place_of(pair.client);
  for (const std::size_t size : {0UZ, 1UZ, 64UZ, 1000UZ, 1016UZ, 1017UZ, 1500UZ, 2032UZ}) {
    CAPTURE(size);
    const auto text = text_of(size, static_cast<unsigned>(size));
    REQUIRE(rsend(pair.client.get(), text.data(), size, 0) == static_cast<ssize_t>(size));
    const auto got = receive_from(pair.server);
    REQUIRE(got);
    CHECK(got->text == text);
    CHECK(same_place(got->from, client_place));
    send_to(pair.server, got->from, text);
    const auto back = receive_from(pair.client);
    REQUIRE(back);
    CHECK(back->text == text);
    CHECK(same_place(back->from, place_of(pair.server)));
  }
}

TEST_CASE("many messages in a row are sent from lists of buffers") {
  const DatagramPair pair;
  for (unsigned i = 0; i < 40; ++i) {
    auto text = text_of(100 + i, i);
    std::array pieces{iovec{text.data(), 10}, iovec{nullptr, 0},
                      iovec{text.data() + 10, text.size() - 10}};
    REQUIRE(rwritev(pair.client.get(), pieces.data(), pieces.size()) ==
            static_cast<ssize_t>(text.size()));
  }
  for (unsigned i = 0; i < 40; ++i) {
    std::string text(100 + i, '\0');
    std::array pieces{iovec{text.data(), 50}, iovec{text.data() + 50, text.size() - 50}};
    REQUIRE(rreadv(pair.server.get(), pieces.data(), pieces.size()) ==
            static_cast<ssize_t>(text.size()));
    CHECK(text == text_of(100 + i, i));
  }
}

TEST_CASE("data beyond the end of the buffer is dropped, and MSG_PEEK leaves the message queued") {
  const DatagramPair pair;
  for (int i = 0; i < 3; ++i) REQUIRE(rsend(pair.client.get(), "abcdef", 6, 0) == 6);
  REQUIRE(rsend(pair.client.get(), "next", 4, 0) == 4);
  REQUIRE(await(pair.server, POLLIN) == POLLIN);
  std::array<char, 4> in{};
  CHECK(rrecv(pair.server.get(), in.data(), in.size(), MSG_PEEK) == 4);
  CHECK(rrecv(pair.server.get(), in.data(), in.size(), 0) == 4);
  CHECK(std::string_view(in.data(), in.size()) == "abcd");
  CHECK(rrecv(pair.server.get(), in.data(), in.size(), MSG_TRUNC) == 6);
  iovec piece{in.data(), in.size()};
  sockaddr_in from{};
  msghdr message{.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &piece, .msg_iovlen = 1};
  CHECK(rrecvmsg(pair.server.get(), &message, 0) == 4);
  CHECK((message.msg_flags & MSG_TRUNC) != 0);
  CHECK(same_place(from, place_of(pair.client)));
  CHECK(receive_text(pair.server) == "next");
}

TEST_CASE("two sockets send to one, and a connected socket receives only from its peer") {
  const DatagramPair pair;
  const Socket other = bound_socket();
  send_to(other, place_of(pair.server), "other");
  const auto got = receive_from(pair.server);
  REQUIRE(got);
  CHECK(got->text == "other");
  send_to(pair.server, got->from, "to the other");
  CHECK(receive_from(other)->text == "to the other");
  send_to(other, place_of(pair.client), "stranger");
  send_to(pair.server, place_of(pair.client), "peer");
  CHECK(receive_from(pair.client)->text == "peer");
  CHECK_FALSE(receive_from(pair.client, 20));
}

TEST_CASE("a message that is too long, has no destination, or has one of another family fails") {
  const DatagramPair pair;
  const std::string text(2033, 'x');
  CHECK(error_of(rsend(pair.client.get(), text.data(), text.size(), 0)) == EMSGSIZE);
  CHECK(error_of(rsend(pair.server.get(), "x", 1, 0)) == EDESTADDRREQ);
  sockaddr_in6 other{};
  other.sin6_family = AF_INET6;
  CHECK(error_of(rsendto(pair.server.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&other),
                         sizeof other)) == EAFNOSUPPORT);
}

TEST_CASE("a non-blocking socket gets EAGAIN, and rpoll() reports a message") {
  const DatagramPair pair;
  REQUIRE(rfcntl(pair.server.get(), F_SETFL, O_NONBLOCK) == 0);
  std::array<char, 10> in{};
  CHECK(error_of(rrecv(pair.server.get(), in.data(), in.size(), 0)) == EAGAIN);
  CHECK(error_of(rrecv(pair.client.get(), in.data(), in.size(), MSG_DONTWAIT)) == EAGAIN);
  CHECK(await(pair.server, POLLIN | POLLOUT, 0) == POLLOUT);
  CHECK(await(pair.server, POLLIN, 5) == 0);
  timeval soon{.tv_sec = 0, .tv_usec = 2000};
  REQUIRE(rsetsockopt(pair.client.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) == 0);
  CHECK(error_of(rrecv(pair.client.get(), in.data(), in.size(), 0)) == EAGAIN);
  std::jthread sender([&] { CHECK(rsend(pair.client.get(), "late", 4, 0) == 4); });
  CHECK(await(pair.server, POLLIN) == POLLIN);
  CHECK(receive_text(pair.server) == "late");
}

TEST_CASE("a message wakes a waiting thread, first by UDP and then by the queue pair") {
  const Socket server = bound_socket();
  const Socket client = datagram_socket();
  std::jthread echo([&] {
    for (int i = 0; i < 20; ++i) {
      std::array<char, 100> in{};
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t count = rrecvfrom(server.get(), in.data(), in.size(), 0,
                                      reinterpret_cast<sockaddr*>(&from), &size);
      REQUIRE(count > 0);
      send_to(server, from, {in.data(), static_cast<std::size_t>(count)});
    }
  });
  connect(client, place_of(server));
  for (int i = 0; i < 20; ++i) {
    const auto text = std::to_string(i);
    REQUIRE(rsend(client.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    CHECK(receive_text(client) == text);
  }
}

TEST_CASE("a loopback address that no device has is reached by UDP alone") {
  const Socket server = datagram_socket();
  bind(server, loopback(0));
  const Socket client = datagram_socket();
  connect(client, place_of(server));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(rsend(client.get(), "x", 1, 0) == 1);
    const auto got = receive_from(server);
    REQUIRE(got);
    send_to(server, got->from, "y");
    CHECK(receive_from(client)->text == "y");
  }
}

TEST_CASE("an IPv6 socket reports the address of an IPv4 peer as IPv4-mapped") {
  const Socket server(rsocket(AF_INET6, SOCK_DGRAM, 0));
  bind(server, sockaddr_in6{.sin6_family = AF_INET6});
  const Socket client = datagram_socket();
  connect(client, own_place(ntohs(place_of<sockaddr_in6>(server).sin6_port)));
  for (int i = 0; i < 3; ++i) {
    REQUIRE(rsend(client.get(), "four", 4, 0) == 4);
    std::array<char, 10> in{};
    sockaddr_in6 from{};
    socklen_t size = sizeof from;
    CHECK(rrecvfrom(server.get(), in.data(), in.size(), 0, reinterpret_cast<sockaddr*>(&from),
                    &size) == 4);
    CHECK(from.sin6_family == AF_INET6);
    CHECK(IN6_IS_ADDR_V4MAPPED(&from.sin6_addr));
    CHECK(rsendto(server.get(), "back", 4, 0, reinterpret_cast<const sockaddr*>(&from), size) == 4);
    CHECK(receive_text(client) == "back");
  }
}

TEST_CASE("an IPv4 socket answers an IPv6 socket with messages up to the usual maximum") {
  const Socket server = bound_socket();
  const Socket client(rsocket(AF_INET6, SOCK_DGRAM, 0));
  const auto at = place_of(server);
  sockaddr_in6 mapped{.sin6_family = AF_INET6, .sin6_port = at.sin_port};
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xFF;
  std::memcpy(&mapped.sin6_addr.s6_addr[12], &at.sin_addr, sizeof at.sin_addr);
  connect(client, mapped);
  for (const std::size_t size : {2020UZ, 2021UZ, 2032UZ}) {
    CAPTURE(size);
    REQUIRE(rsend(client.get(), "give", 4, 0) == 4);
    const auto got = receive_from(server);
    REQUIRE(got);
    CHECK(got->text == "give");
    const auto text = text_of(size, static_cast<unsigned>(size));
    send_to(server, got->from, text);
    REQUIRE(await(client, POLLIN) == POLLIN);
    CHECK(receive_text(client, 4096) == text);
  }
  const std::string text(2021, 'x');
  CHECK(error_of(rsend(client.get(), text.data(), text.size(), 0)) == EMSGSIZE);
}

TEST_CASE("options, and calls that datagram sockets do not support") {
  const Socket socket = datagram_socket();
  CHECK(get_number(socket, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM);
  set_number(socket, SOL_SOCKET, SO_RCVBUF, 10'000);
  CHECK(get_number(socket, SOL_SOCKET, SO_RCVBUF) == 20'000);
  set_number(socket, SOL_RDMA, RDMA_RQSIZE, 100);
  set_number(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  bind(socket, own_place());
  // The receive queue holds 9 receives of 2048 bytes each.
  CHECK(get_number(socket, SOL_RDMA, RDMA_RQSIZE) == 9);
  CHECK(error_of(rlisten(socket.get(), 1)) == EOPNOTSUPP);
  CHECK(error_of(raccept(socket.get(), nullptr, nullptr)) == EOPNOTSUPP);
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  CHECK(error_of(rgetpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &size)) ==
        ENOTCONN);
  CHECK(error_of(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP)) == ENOTSUP);
}

TEST_CASE("a receiver that reads nothing loses messages, and continues") {
  const DatagramPair pair;
  for (int i = 0; i < 3000; ++i) REQUIRE(rsend(pair.client.get(), "flood", 5, 0) == 5);
  while (const auto got = receive_from(pair.server, 50)) CHECK(got->text == "flood");
  REQUIRE(rsend(pair.client.get(), "last", 4, 0) == 4);
  CHECK(receive_from(pair.server)->text == "last");
}

TEST_CASE("sending to a port without a socket is no error, and a socket may be bound later") {
  const auto at = place_of(bound_socket());
  const Socket client = datagram_socket();
  connect(client, at);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(rsend(client.get(), "lost", 4, 0) == 4);
    CHECK(await(client, POLLIN, 2) == 0);
  }
  const Socket server = datagram_socket();
  bind(server, at);
  REQUIRE(rsend(client.get(), "found", 5, 0) == 5);
  CHECK(receive_from(server)->text == "found");
}

TEST_CASE("the child of a fork closes the parent's socket, and the parent's still works") {
  const DatagramPair pair;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool is_dead = rsend(pair.client.get(), "x", 1, 0) == -1 && errno == EBADF;
    ::_exit(is_dead && rclose(pair.client.get()) == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  REQUIRE(rsend(pair.client.get(), "parent", 6, 0) == 6);
  CHECK(receive_from(pair.server)->text == "parent");
}

TEST_CASE("rclose() ends a blocked call") {
  Socket socket = bound_socket();
  std::jthread waiter([number = socket.get()] {
    std::array<char, 1> in{};
    CHECK(error_of(rrecv(number, in.data(), in.size(), 0)) == EBADF);
  });
  CHECK(await(socket, POLLIN, 20) == 0);
  REQUIRE(rclose(socket.release()) == 0);
}

}  // namespace
