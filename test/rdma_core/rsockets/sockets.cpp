// SPDX-License-Identifier: Apache-2.0
// Makes, connects and waits for stream rsockets, and moves whole messages over them.
#include "sockets.hpp"

#include <arpa/inet.h>

namespace rsockets_test {

Socket make_socket(int family) { return Socket(rsocket(family, SOCK_STREAM, 0)); }

sockaddr_in loopback(std::uint16_t port) {
  return {.sin_family = AF_INET,
          .sin_port = htons(port),
          .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

Socket listening(const Prepare& prepare) {
  Socket out = make_socket();
  prepare(out);
  bind(out, loopback(0));
  REQUIRE(rlisten(out.get(), 8) == 0);
  return out;
}

std::uint16_t port_of(const Socket& socket) { return ntohs(place_of(socket).sin_port); }

Socket connect_to(std::uint16_t port, const Prepare& prepare) {
  Socket out = make_socket();
  prepare(out);
  connect(out, loopback(port));
  return out;
}

Pair::Pair(const Prepare& prepare)
    : listener(listening(prepare)),
      client(connect_to(port_of(listener), prepare)),
      server(raccept(listener.get(), nullptr, nullptr)) {}

void set_number(const Socket& socket, int level, int name, int value) {
  REQUIRE(rsetsockopt(socket.get(), level, name, &value, sizeof value) == 0);
}

int get_number(const Socket& socket, int level, int name) {
  int out = -1;
  socklen_t size = sizeof out;
  REQUIRE(rgetsockopt(socket.get(), level, name, &out, &size) == 0);
  CHECK(size == sizeof out);
  return out;
}

std::vector<std::uint8_t> pattern(std::size_t size, unsigned seed) {
  std::vector<std::uint8_t> out(size);
  std::uint32_t state = seed;
  for (auto& octet : out) {
    state = state * 1664525 + 1013904223;
    octet = static_cast<std::uint8_t>(state >> 24);
  }
  return out;
}

void send_all(const Socket& socket, std::span<const std::uint8_t> octets) {
  while (!octets.empty()) {
    const ssize_t count = rsend(socket.get(), octets.data(), octets.size(), 0);
    REQUIRE(count > 0);
    octets = octets.subspan(static_cast<std::size_t>(count));
  }
}

std::vector<std::uint8_t> receive_all(const Socket& socket, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  REQUIRE(rrecv(socket.get(), out.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size));
  return out;
}

std::string receive_text(const Socket& socket, std::size_t most) {
  std::string out(most, '\0');
  const ssize_t count = rrecv(socket.get(), out.data(), most, 0);
  REQUIRE(count >= 0);
  out.resize(static_cast<std::size_t>(count));
  return out;
}

short await(const Socket& socket, short events, int timeout_ms) {
  pollfd waiting{.fd = socket.get(), .events = events, .revents = 0};
  REQUIRE(rpoll(&waiting, 1, timeout_ms) >= 0);
  return waiting.revents;
}

}  // namespace rsockets_test
