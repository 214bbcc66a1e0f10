// SPDX-License-Identifier: Apache-2.0
// Converts between the port numbers of the program and the port numbers of TCP. By default the two
// are the same. With IWARP_PORT_OFFSET=N, port p of the program is TCP port p + N. A program that
// serves TCP and RDMA on the same port number can then bind to both.
//
// An rdma_cm_id contains port numbers of the program. The layers below use port numbers of TCP.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <system_error>

#include "iwarp/net/bound_socket.hpp"

namespace iwarp::rdma_core {

/// Converts port numbers of the program to port numbers of TCP and back, for one offset.
class PortMap {
 public:
  explicit constexpr PortMap(std::uint16_t offset) : offset_(offset) {}

  /// Returns whether the offset is 0, so that the program and TCP use the same port numbers.
  bool is_plain() const { return offset_ == 0; }
  /// Returns whether `program` plus the offset is a valid port (1 to 65535). Also returns true if
  /// `program` is 0, which means any port.
  bool has_tcp(std::uint16_t program) const;
  /// tcp() converts a port number of the program to that of TCP, and program() does the inverse.
  /// Port 0 stays 0. Both functions wrap around, because TCP may assign a client a port below the
  /// offset. For such a port, too, program() must return a number that no other port has, and that
  /// is the same at both ends.
  std::uint16_t tcp(std::uint16_t program) const;
  std::uint16_t program(std::uint16_t tcp) const;

  /// Returns 0 if has_tcp() is true for the port of the address `program`. Otherwise logs that the
  /// port plus the offset is out of range, and returns EADDRNOTAVAIL.
  int check(const sockaddr& program) const;
  net::Address to_tcp(const sockaddr& program) const;
  /// Converts a numeric address. If `tcp` is not numeric, returns an address of family 0.
  sockaddr_storage from_tcp(const net::Address& tcp) const;

  /// Does the same as net::bind_tcp(), except if `at` has port 0. In that case it chooses a TCP
  /// port above the offset, so that the TCP port corresponds to a port number that peers can pass
  /// to rdma_connect().
  std::expected<net::BoundSocket, std::error_code> bind(const net::Address& at,
                                                        net::PortRange range) const;

  /// Returns the text of an address for the log. The text contains the program's port number, and
  /// also the TCP port if the two differ.
  std::string describe(const net::Address& tcp) const;

 private:
  std::uint16_t offset_;
};

}  // namespace iwarp::rdma_core
