// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of rsockets: sockets that are closed at the end of their scope, and a
// connected pair of sockets.
#pragma once

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../support/error_of.hpp"

namespace rsockets_test {

using rdma_core_test::error_of;

inline constexpr int kTimeoutMs = 60'000;

class Socket {
 public:
  explicit Socket(int number) : number_(number) { REQUIRE(number >= 0); }
  Socket(Socket&& other) noexcept : number_(other.release()) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (number_ >= 0) CHECK(rclose(number_) == 0);
  }
  int get() const { return number_; }
  int release() {
    const int out = number_;
    number_ = -1;
    return out;
  }

 private:
  int number_;
};

Socket make_socket(int family = AF_INET);
/// Binds, connects and names a socket, with addresses of either family.
template <typename Address>
void bind(const Socket& socket, const Address& at) {
  REQUIRE(rbind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
}
template <typename Address>
int try_connect(const Socket& socket, const Address& to) {
  return rconnect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
}
template <typename Address>
void connect(const Socket& socket, const Address& to) {
  REQUIRE(try_connect(socket, to) == 0);
}
template <typename Address = sockaddr_in>
Address place_of(const Socket& socket) {
  Address out{};
  socklen_t size = sizeof out;
  REQUIRE(rgetsockname(socket.get(), reinterpret_cast<sockaddr*>(&out), &size) == 0);
  CHECK(size == sizeof out);
  return out;
}
sockaddr_in loopback(std::uint16_t port);
/// Sets options of a new socket.
using Prepare = std::function<void(const Socket&)>;
inline void nothing(const Socket& /*socket*/) {}
/// Returns a socket that listens on 127.0.0.1.
Socket listening(const Prepare& prepare = nothing);
std::uint16_t port_of(const Socket& socket);
Socket connect_to(std::uint16_t port, const Prepare& prepare = nothing);

struct Pair {
  /// Prepares the listener and the client. The accepted socket inherits the options of the
  /// listener.
  explicit Pair(const Prepare& prepare = nothing);
  Socket listener, client, server;
};

void set_number(const Socket& socket, int level, int name, int value);
int get_number(const Socket& socket, int level, int name);

/// Returns bytes whose values depend on their position and on `seed`.
std::vector<std::uint8_t> pattern(std::size_t size, unsigned seed = 1);
void send_all(const Socket& socket, std::span<const std::uint8_t> octets);
std::vector<std::uint8_t> receive_all(const Socket& socket, std::size_t size);
std::string receive_text(const Socket& socket, std::size_t most = 100);
/// Waits until one of `events` occurs. Returns the events that have occurred.
short await(const Socket& socket, short events, int timeout_ms = kTimeoutMs);

}  // namespace rsockets_test
