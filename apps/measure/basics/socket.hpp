// SPDX-License-Identifier: Apache-2.0
// Socket and Listener: the TCP connections of a measurement. They carry the control messages and
// the data of the TCP baselines. Every call has a deadline, and a stop signal ends each wait with
// Interrupted. RDMA connections do not use these classes: the stack's driver owns their sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "iwarp/bytes/view.hpp"
#include "iwarp/net/address.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps::measure {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  /// Connects, and sets TCP_NODELAY. `congestion` is a value for TCP_CONGESTION; if it is empty,
  /// the system default applies. Throws Error if the host is unknown, refuses, or does not answer
  /// before the deadline.
  static Socket connect(const net::Address& to, Clock::time_point deadline,
                        const std::string& congestion = "");

  /// Sends all bytes. Throws PeerGone if the connection has ended, or Error if the deadline passes.
  void send(bytes::View octets, Clock::time_point deadline);
  /// Waits for EPOLLIN or EPOLLOUT. Throws Error if the deadline passes.
  void await(std::uint32_t events, Clock::time_point deadline) const;
  /// Receives at least one byte, and returns the number of bytes received. Throws PeerGone if the
  /// connection has ended, or Error if the deadline passes.
  std::size_t receive(bytes::Span into, Clock::time_point deadline);
  /// Like receive(), but returns 0 if nothing has arrived yet.
  std::size_t receive_now(bytes::Span into);

  /// Returns the descriptor, which is non-blocking.
  int fd() const { return fd_.get(); }
  /// Returns the name of the congestion control, or an empty string if the system does not report
  /// it.
  std::string congestion() const;

 private:
  friend class Listener;
  explicit Socket(net::UniqueFd fd);

  net::UniqueFd fd_;
};

class Listener {
 public:
  /// Listens at `at`. Throws Error if the host is unknown, if `at` is not an address of this
  /// machine, or if the port is in use.
  explicit Listener(const net::Address& at, const std::string& congestion = "");

  std::uint16_t port() const { return port_; }
  int fd() const { return fd_.get(); }
  /// Returns the next connection, or nullopt if none arrives before the deadline.
  std::optional<Socket> accept(Clock::time_point deadline);

 private:
  net::UniqueFd fd_;
  std::uint16_t port_ = 0;
};

}  // namespace iwarp::apps::measure
