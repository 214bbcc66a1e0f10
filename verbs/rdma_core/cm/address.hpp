// SPDX-License-Identifier: Apache-2.0
// Functions for the socket addresses that <rdma/rdma_cma.h> uses. Some of the functions convert a
// socket address to or from a net::Address. They support only IPv4 and IPv6, and convert an
// IPv4-mapped IPv6 address to IPv4.
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
/// Returns a copy of the address, in which an IPv4-mapped IPv6 address is converted to IPv4.
sockaddr_storage unmapped(const sockaddr_storage& address);
/// Returns whether the address is the wildcard address of its family (0.0.0.0 or ::).
bool is_any(const sockaddr& address);
/// Returns whether the address is ::1, an address in 127.0.0.0/8, or an IPv4-mapped form of such an
/// address.
bool is_loopback(const sockaddr& address);
bool same_host(const sockaddr& a, const sockaddr& b);

net::Address to_net(const sockaddr& address);
/// Converts a numeric address. If `address` is not numeric, returns an address of family 0.
sockaddr_storage from_net(const net::Address& address);

/// Returns the source address, with port 0, that this host uses for packets to `to`, or an errno.
/// If `from` is not null, it is the source address that the program has chosen. Sends nothing.
std::expected<sockaddr_storage, int> find_source(const sockaddr& to, const sockaddr* from);

}  // namespace iwarp::rdma_core
