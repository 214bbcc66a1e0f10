// SPDX-License-Identifier: Apache-2.0
// bind_tcp() and bind_reserved(). A port of a range is chosen in two passes: first a port without
// former connections, then any that can be bound.
#include "iwarp/net/bound_socket.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <vector>

#include "iwarp/verbs/errors.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

using Tcp = boost::asio::ip::tcp;
using verbs::Errc;

std::vector<Tcp::endpoint> resolve(const Address& at) {
  // An empty host means every local address. An IPv6 socket accepts IPv4 as well. The IPv4 address
  // is tried only if the kernel lacks IPv6.
  if (at.host.empty()) return {{Tcp::v6(), at.port}, {Tcp::v4(), at.port}};
  boost::asio::io_context context;
  Tcp::resolver resolver(context);
  boost::system::error_code unresolved;
  const auto flags = Tcp::resolver::passive | Tcp::resolver::numeric_service;
  std::vector<Tcp::endpoint> out;
  for (const auto& entry : resolver.resolve(at.host, std::to_string(at.port), flags, unresolved)) {
    out.push_back(entry.endpoint());
  }
  return out;
}

std::expected<UniqueFd, std::error_code> open_in_range(Tcp::endpoint endpoint, PortRange range,
                                                       bool dual_stack) {
  // Prefer a port without former connections, because the peers may still hold the state of such
  // connections.
  for (const Sharing sharing : {Sharing::kNever, Sharing::kWithFormer}) {
    for (std::uint32_t port = range.first; port <= range.last; ++port) {
      endpoint.port(static_cast<std::uint16_t>(port));
      auto socket = open_bound(to_socket_address(endpoint), dual_stack, sharing);
      if (socket || socket.error() != std::errc::address_in_use) return socket;
    }
  }
  return std::unexpected(make_error_code(Errc::kAddressInUse));
}

std::error_code known_or_own(const std::error_code& error) {
  // This error means that the address does not belong to this machine. kAddressInvalid would
  // suggest that the name is unknown, so keep the system's error.
  if (error == std::errc::address_not_available) return error;
  const auto known = to_errc(error);
  return known == Errc::kSystem ? error : known;
}

std::expected<BoundSocket, std::error_code> bind(const Address& at, PortRange range,
                                                 Sharing sharing) {
  const bool dual_stack = at.host.empty();
  std::error_code last = make_error_code(Errc::kAddressInvalid);
  for (const auto& endpoint : resolve(at)) {
    auto socket = at.port == 0 && range.last != 0
                      ? open_in_range(endpoint, range, dual_stack)
                      : open_bound(to_socket_address(endpoint), dual_stack, sharing);
    if (socket) {
      Address local = local_address(socket->get());
      return BoundSocket(std::move(*socket), std::move(local));
    }
    last = known_or_own(socket.error());
    if (last != Errc::kAddressInvalid && last != std::errc::address_not_available) break;
  }
  return std::unexpected(last);
}

}  // namespace

std::expected<BoundSocket, std::error_code> bind_tcp(const Address& at, PortRange range) {
  return bind(at, range, Sharing::kWithFormer);
}

std::expected<BoundSocket, std::error_code> bind_reserved(const Address& at) {
  return bind(at, {}, Sharing::kWithReserved);
}

}  // namespace iwarp::net
