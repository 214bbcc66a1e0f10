// SPDX-License-Identifier: Apache-2.0
// Converts between the program's port numbers and TCP's. In iWARP they are the same, unless
// IWARP_PORT_OFFSET=N maps program port p to TCP port p + N: a program that serves TCP and RDMA on
// the same port number can then bind both.
//
// An rdma_cm_id contains the program's numbers; the layers below use TCP's.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <system_error>

#include "iwarp/net/bound_socket.hpp"

namespace iwarp::rdma_core {

/// Converts either number of a port to the other, for one offset.
class PortMap {
 public:
  explicit constexpr PortMap(std::uint16_t offset) : offset_(offset) {}

  /// Returns whether both numbers of each port are the same.
  bool is_plain() const { return offset_ == 0; }
  /// Returns whether `program` plus the offset is within 1 to 65535. Returns true for 0, which
  /// means any port.
  bool has_tcp(std::uint16_t program) const;
  /// tcp() converts the program's port number to TCP's, and program() does the inverse. 0 stays 0.
  /// Both wrap around, because TCP may assign a port below the offset to a client, and even this
  /// port must have a program number that no other port has and that is the same on both sides.
  std::uint16_t tcp(std::uint16_t program) const;
  std::uint16_t program(std::uint16_t tcp) const;

  /// Returns 0 if has_tcp() is true for the port of the address. Otherwise logs that the port plus
  /// the offset is out of range, and returns EADDRNOTAVAIL.
  int check(const sockaddr& program) const;
  net::Address to_tcp(const sockaddr& program) const;
  /// Parses a numeric address. Returns family 0 if `tcp` is not numeric.
  sockaddr_storage from_tcp(const net::Address& tcp) const;

  /// Does the same as net::bind_tcp(), but if `at` has port 0, chooses a port above the offset, so
  /// that the port has a program number that peers can pass to rdma_connect().
  std::expected<net::BoundSocket, std::error_code> bind(const net::Address& at,
                                                        net::PortRange range) const;

  /// Returns, for the log, the address with the program's port, and the TCP port if that differs.
  std::string describe(const net::Address& tcp) const;

 private:
  std::uint16_t offset_;
};

}  // namespace iwarp::rdma_core
