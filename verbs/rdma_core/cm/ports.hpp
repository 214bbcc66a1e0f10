// SPDX-License-Identifier: Apache-2.0
// The program's port numbers and those of TCP. In iWARP they are the same, unless
// IWARP_PORT_OFFSET=N puts program port p on TCP port p + N: a program that offers TCP and RDMA on
// one number can then have both.
//
// Everything in an rdma_cm_id is the program's, everything below is TCP's.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <system_error>

#include "iwarp/net/bound_socket.hpp"

namespace iwarp::rdma_core {

/// The offset leaves `program_port` within 1 to 65535. 0, any port, always is.
bool has_tcp_port(std::uint16_t program_port, std::uint16_t offset);
/// Inverse of each other; 0 stays 0. They wrap: TCP gives active sides any port, even one that is
/// no more than the offset, and each must look different, and alike to both sides.
std::uint16_t tcp_port(std::uint16_t program_port, std::uint16_t offset);
std::uint16_t program_port(std::uint16_t tcp_port, std::uint16_t offset);

/// 0, or EADDRNOTAVAIL and a line on standard error: the offset takes this port out of range.
int check_port(const sockaddr& program_address);
net::Address to_tcp(const sockaddr& program_address);
/// `address` is numeric; family 0: it is not.
sockaddr_storage from_tcp(const net::Address& address);

/// bind_tcp(), but a port that is left to us is above the offset, so that the program can be told
/// its number and peers reach it by that.
std::expected<net::BoundSocket, std::error_code> bind_above(std::uint16_t offset,
                                                            const net::Address& at,
                                                            net::PortRange range);

/// For the log: the address as the program has it, and the TCP port where that differs.
std::string describe(const net::Address& tcp);

}  // namespace iwarp::rdma_core
