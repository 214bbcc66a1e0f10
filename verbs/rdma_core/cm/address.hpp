// SPDX-License-Identifier: Apache-2.0
// Converts socket addresses, as in <rdma/rdma_cma.h>, to and from net::Address. Supports only IPv4
// and IPv6. An IPv4 address that is mapped into IPv6 becomes IPv4.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <expected>

#include "iwarp/net/address.hpp"

namespace iwarp::rdma_core {

/// Returns whether `address` is IPv4 or IPv6. Returns false for null, AF_IB and other families.
bool is_ip(const sockaddr* address);
socklen_t size_of(const sockaddr& address);
sockaddr_storage copy_of(const sockaddr& address);
std::uint16_t port_of(const sockaddr& address);
void set_port(sockaddr& address, std::uint16_t port);
/// Returns the address. Converts an IPv4 address that is mapped into IPv6 to IPv4.
sockaddr_storage unmapped(const sockaddr_storage& address);
/// Returns whether the address is the wildcard of its family.
bool is_any(const sockaddr& address);
/// Returns whether the address is ::1 or in 127.0.0.0/8. The latter may be mapped into IPv6.
bool is_loopback(const sockaddr& address);
bool same_host(const sockaddr& a, const sockaddr& b);

net::Address to_net(const sockaddr& address);
/// Parses a numeric address. Returns family 0 if it is not numeric.
sockaddr_storage from_net(const net::Address& address);

/// Returns the address of this host, with port 0, from which packets to `to` are sent, or an errno.
/// `from`, unless null, is the address that the program has chosen. Sends nothing.
std::expected<sockaddr_storage, int> find_source(const sockaddr& to, const sockaddr* from);

}  // namespace iwarp::rdma_core
