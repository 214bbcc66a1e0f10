// SPDX-License-Identifier: Apache-2.0
// Reads and writes the parts of socket addresses, by copying and not by casting pointers, and asks
// the kernel for the source address of a destination.
#include "cm/address.hpp"

#include <netdb.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core {
namespace {

/// Returns a copy of the address, as a struct of type T. A cast instead of a copy would not be
/// valid C++, because the program may have declared its buffer with another type.
template <typename T>
T as(const sockaddr& address) {
  T out{};
  std::memcpy(&out, &address, sizeof out);
  return out;
}

}  // namespace

bool is_ip(const sockaddr* address) {
  return address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

socklen_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

sockaddr_storage copy_of(const sockaddr& address) {
  sockaddr_storage out{};
  std::memcpy(&out, &address, size_of(address));
  return out;
}

// The cast works for IPv6 as well, because sin_port and sin6_port have the same offset.
std::uint16_t port_of(const sockaddr& address) {
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void set_port(sockaddr& address, std::uint16_t port) {
  reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
}

sockaddr_storage unmapped(const sockaddr_storage& address) {
  const auto v6 = as<sockaddr_in6>(reinterpret_cast<const sockaddr&>(address));
  if (v6.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return address;
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = v6.sin6_port};
  std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
  return copy_of(reinterpret_cast<const sockaddr&>(v4));
}

bool is_any(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return as<sockaddr_in>(address).sin_addr.s_addr == htonl(INADDR_ANY);
  }
  const auto v6 = as<sockaddr_in6>(address);
  return IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

bool is_loopback(const sockaddr& address) {
  const sockaddr_storage plain = unmapped(copy_of(address));
  const auto& its = reinterpret_cast<const sockaddr&>(plain);
  if (its.sa_family == AF_INET) {
    return ntohl(as<sockaddr_in>(its).sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
  }
  const auto v6 = as<sockaddr_in6>(its);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool same_host(const sockaddr& a, const sockaddr& b) {
  if (a.sa_family != b.sa_family) return false;
  if (a.sa_family == AF_INET) {
    return as<sockaddr_in>(a).sin_addr.s_addr == as<sockaddr_in>(b).sin_addr.s_addr;
  }
  const auto a6 = as<sockaddr_in6>(a);
  const auto b6 = as<sockaddr_in6>(b);
  return IN6_ARE_ADDR_EQUAL(&a6.sin6_addr, &b6.sin6_addr);
}

net::Address to_net(const sockaddr& address) {
  std::array<char, NI_MAXHOST> host{};
  ::getnameinfo(&address, size_of(address), host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return {.host = host.data(), .port = port_of(address)};
}

sockaddr_storage from_net(const net::Address& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const sockaddr_storage out = copy_of(*found->ai_addr);
  ::freeaddrinfo(found);
  return unmapped(out);
}

// Finds the source address by connecting a UDP socket. The connect() consults the routing table and
// sends nothing.
std::expected<sockaddr_storage, int> find_source(const sockaddr& to, const sockaddr* from) {
  const net::UniqueFd socket(::socket(to.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return std::unexpected(errno);
  if (from != nullptr) {
    sockaddr_storage any_port = copy_of(*from);
    auto& address = reinterpret_cast<sockaddr&>(any_port);
    set_port(address, 0);
    if (::bind(socket.get(), &address, size_of(address)) != 0) return std::unexpected(errno);
  }
  sockaddr_storage target = copy_of(to);
  // If `to` has port 0, uses the port of the discard service, because some systems do not connect
  // UDP sockets to port 0.
  constexpr std::uint16_t kSomePort = 9;
  if (port_of(to) == 0) set_port(reinterpret_cast<sockaddr&>(target), kSomePort);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), size_of(to)) != 0) {
    return std::unexpected(errno);
  }
  sockaddr_storage out{};
  socklen_t size = sizeof out;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&out), &size) != 0) {
    return std::unexpected(errno);
  }
  set_port(reinterpret_cast<sockaddr&>(out), 0);
  return out;
}

}  // namespace iwarp::rdma_core
