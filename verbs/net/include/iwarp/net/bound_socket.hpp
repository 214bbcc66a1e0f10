// SPDX-License-Identifier: Apache-2.0
// BoundSocket: reserves a TCP port before it is known whether the application will listen on it or
// connect from it. While a BoundSocket exists, other programs cannot bind its port, with or without
// SO_REUSEADDR. The exception is a socket of the same user with SO_REUSEPORT; this library uses
// such sockets to connect from the port (ConnectOptions::local). A port can be reserved even if
// former connections of the port are in TIME_WAIT or still open.
#pragma once

#include <cstdint>
#include <expected>
#include <system_error>
#include <utility>

#include "iwarp/net/address.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {

/// A bound TCP socket that does not listen. Movable. The destructor closes it.
class BoundSocket {
 public:
  BoundSocket(UniqueFd fd, Address local) : fd_(std::move(fd)), local_(std::move(local)) {}
  /// Returns the numeric address and the port to which the socket is bound.
  const Address& local() const { return local_; }
  /// Returns the descriptor, which the object owns.
  int fd() const { return fd_.get(); }
  /// Gives up the descriptor and returns it.
  UniqueFd release() { return std::move(fd_); }

 private:
  UniqueFd fd_;
  Address local_;
};

/// A range of ports, both ends included. {0, 0} means no range.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// Binds a TCP socket to an address of this machine; an empty host means all addresses. Port 0
/// means the lowest free port of `range`, or, without a range, a port that the system chooses.
/// Blocks while the host name is resolved. Fails with `Errc::kAddressInUse`,
/// `Errc::kAddressInvalid` (unknown host) or the system's error, for example EADDRNOTAVAIL if the
/// address belongs to another machine, or EACCES.
std::expected<BoundSocket, std::error_code> bind_tcp(const Address& at, PortRange range = {});
/// Binds another TCP socket to an address and port that a BoundSocket of the same user reserves.
/// Only one of the two sockets can listen. Fails as bind_tcp() does.
std::expected<BoundSocket, std::error_code> bind_reserved(const Address& at);

}  // namespace iwarp::net
