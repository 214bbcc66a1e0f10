// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of datagram rsockets.
#pragma once

#include <optional>

#include "sockets.hpp"

namespace rsockets_test {

/// Returns an address of this host that is also a GID of the device. Between such addresses,
/// rsockets can send datagrams through their queue pairs, and not only over UDP.
sockaddr_in own_place(std::uint16_t port = 0);

Socket datagram_socket();
/// Returns a socket bound to own_place(), on any port.
Socket bound_socket();
void send_to(const Socket& socket, const sockaddr_in& to, std::string_view text);

struct Got {
  std::string text;
  sockaddr_in from{};
};
/// Returns the next datagram, or nullopt if nothing arrives within the timeout.
std::optional<Got> receive_from(const Socket& socket, int timeout_ms = kTimeoutMs, int flags = 0);

/// Two sockets that have learned each other's queue pair number. From then on they send their
/// datagrams through the queue pairs, and not over UDP.
struct DatagramPair {
  DatagramPair();
  Socket server, client;  ///< the client's socket is connected
};

}  // namespace rsockets_test
