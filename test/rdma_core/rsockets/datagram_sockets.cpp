// SPDX-License-Identifier: Apache-2.0
// Makes datagram rsockets, sends from them, and receives with a time limit.
#include "datagram_sockets.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <array>

namespace rsockets_test {

sockaddr_in own_place(std::uint16_t port) {
  sockaddr_in out = loopback(port);
  ifaddrs* all = nullptr;
  REQUIRE(::getifaddrs(&all) == 0);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool up = (each->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP;
    if (!up || each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    out.sin_addr = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    break;
  }
  ::freeifaddrs(all);
  return out;
}

Socket datagram_socket() { return Socket(rsocket(AF_INET, SOCK_DGRAM, 0)); }

Socket bound_socket() {
  Socket out = datagram_socket();
  bind(out, own_place());
  return out;
}

void send_to(const Socket& socket, const sockaddr_in& to, std::string_view text) {
  REQUIRE(rsendto(socket.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                  sizeof to) == static_cast<ssize_t>(text.size()));
}

std::optional<Got> receive_from(const Socket& socket, int timeout_ms, int flags) {
  if (await(socket, POLLIN, timeout_ms) != POLLIN) return std::nullopt;
  std::array<char, 4096> octets{};
  Got out;
  socklen_t size = sizeof out.from;
  const ssize_t count = rrecvfrom(socket.get(), octets.data(), octets.size(), flags,
                                  reinterpret_cast<sockaddr*>(&out.from), &size);
  REQUIRE(count >= 0);
  CHECK(size == sizeof out.from);
  out.text.assign(octets.data(), static_cast<std::size_t>(count));
  return out;
}

DatagramPair::DatagramPair() : server(bound_socket()), client(datagram_socket()) {
  connect(client, place_of(server));
  REQUIRE(rsend(client.get(), "first", 5, 0) == 5);
  const auto got = receive_from(server);
  REQUIRE(got);
  CHECK(got->text == "first");
  send_to(server, got->from, "answer");
  const auto answer = receive_from(client);
  REQUIRE(answer);
  CHECK(answer->text == "answer");
}

}  // namespace rsockets_test
