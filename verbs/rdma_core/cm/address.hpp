// SPDX-License-Identifier: Apache-2.0
// Socket addresses, as <rdma/rdma_cma.h> has them, to and from those of net. IPv4 and IPv6 only;
// IPv4 mapped into IPv6 becomes IPv4.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <expected>

#include "iwarp/net/address.hpp"

namespace iwarp::rdma_core {

/// Null, AF_IB and whatever else TCP does not run over: false.
bool is_ip(const sockaddr* address);
socklen_t size_of(const sockaddr& address);
sockaddr_storage copy_of(const sockaddr& address);
std::uint16_t port_of(const sockaddr& address);
void set_port(sockaddr& address, std::uint16_t port);
/// As IPv4 where it is IPv4 mapped into IPv6.
sockaddr_storage unmapped(const sockaddr_storage& address);
/// The wildcard of its family.
bool is_any(const sockaddr& address);
/// In 127.0.0.0/8, or ::1; IPv4 mapped into IPv6, too.
bool is_loopback(const sockaddr& address);
bool same_host(const sockaddr& a, const sockaddr& b);

net::Address to_net(const sockaddr& address);
/// `address` is numeric; family 0: it is not.
sockaddr_storage from_net(const net::Address& address);

/// Which address of this host leads to `to`, port 0; `from`, unless null, is the program's choice.
/// Sends nothing. Otherwise an errno.
std::expected<sockaddr_storage, int> find_source(const sockaddr& to, const sockaddr* from);

}  // namespace iwarp::rdma_core
