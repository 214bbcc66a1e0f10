// SPDX-License-Identifier: Apache-2.0
// BoundSocket: a TCP port that is ours before it is known what for: to listen on it, or to connect
// from it. While this lives nobody else can bind the port, whether or not they ask for
// SO_REUSEADDR; only sockets of the same user that ask for SO_REUSEPORT can, as the sockets do that
// connect from here (ConnectOptions::local). A port whose former connections are in TIME_WAIT, or
// still open after their listener has gone, can be had.
#pragma once

#include <cstdint>
#include <expected>
#include <system_error>
#include <utility>

#include "iwarp/net/address.hpp"

namespace iwarp::net {

class BoundSocket {
 public:
  /// Takes `fd` over.
  BoundSocket(int fd, Address local);
  BoundSocket(BoundSocket&& o) noexcept
      : fd_(std::exchange(o.fd_, -1)), local_(std::move(o.local_)) {}
  BoundSocket& operator=(BoundSocket&& o) noexcept;
  ~BoundSocket();

  /// Numeric, with the port that was really bound.
  const Address& local() const { return local_; }
  int fd() const { return fd_; }
  /// The descriptor; whoever calls this closes it.
  int release();

 private:
  int fd_ = -1;
  Address local_;
};

/// Both included; none when 0.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// Binds to `at`, which resolves to an address of this machine. Port 0: the lowest free one of
/// `range`, or without a range one that the system chooses. Errc::kAddressInUse, kAddressInvalid
/// (unknown), or the system's own (EADDRNOTAVAIL for one of another machine, EACCES).
std::expected<BoundSocket, std::error_code> bind_tcp(const Address& at, PortRange range = {});

}  // namespace iwarp::net
