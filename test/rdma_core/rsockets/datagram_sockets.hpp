// SPDX-License-Identifier: Apache-2.0
// What the tests of datagram rsockets share.
#pragma once

#include <optional>

#include "sockets.hpp"

namespace rsockets_test {

/// Of this host, and a GID of the device: datagrams between queue pairs go there.
sockaddr_in own_place(std::uint16_t port = 0);

Socket datagram_socket();
/// At own_place(), any port.
Socket bound_socket();
sockaddr_in place_of(const Socket& socket);
void connect(const Socket& socket, const sockaddr_in& to);
void send_to(const Socket& socket, const sockaddr_in& to, std::string_view text);

struct Got {
  std::string text;
  sockaddr_in from{};
};
/// nullopt: nothing within a moment.
std::optional<Got> receive_from(const Socket& socket, int timeout_ms = kTimeoutMs, int flags = 0);

/// Two that have each other's queue pair: what they send next does not go by UDP.
struct DatagramPair {
  DatagramPair();
  Socket server, client;  ///< the client is connected
};

}  // namespace rsockets_test
