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

/// Either number of a port from the other, for one offset.
class PortMap {
 public:
  explicit constexpr PortMap(std::uint16_t offset) : offset_(offset) {}

  /// Returns true if both numbers of each port are the same.
  bool is_plain() const { return offset_ == 0; }
  /// The offset leaves `program` within 1 to 65535. 0, any port, always is.
  bool has_tcp(std::uint16_t program) const;
  /// Inverse of each other; 0 stays 0. They wrap: TCP gives active sides any port, even one that is
  /// no more than the offset, and each must look different, and alike to both sides.
  std::uint16_t tcp(std::uint16_t program) const;
  std::uint16_t program(std::uint16_t tcp) const;

  /// 0, or EADDRNOTAVAIL and a line on standard error: the offset takes this port out of range.
  int check(const sockaddr& program) const;
  net::Address to_tcp(const sockaddr& program) const;
  /// `tcp` is numeric; family 0: it is not.
  sockaddr_storage from_tcp(const net::Address& tcp) const;

  /// net::bind_tcp(), but a port that is left to us is above the offset, so that the program can be
  /// told its number and peers reach it by that.
  std::expected<net::BoundSocket, std::error_code> bind(const net::Address& at,
                                                        net::PortRange range) const;

  /// For the log: the address as the program has it, and the TCP port where that differs.
  std::string describe(const net::Address& tcp) const;

 private:
  std::uint16_t offset_;
};

}  // namespace iwarp::rdma_core
