// SPDX-License-Identifier: Apache-2.0
// Socket and Listener: the TCP connections of a measurement, for its control and for the baselines.
// Every call has a deadline, and a stop signal ends each wait with Interrupted. Not for RDMA, whose
// connections are the driver's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "iwarp/bytes/view.hpp"
#include "iwarp/net/address.hpp"

namespace iwarp::apps::measure {

using Clock = std::chrono::steady_clock;

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  void close();

 private:
  int fd_;
};

class Socket {
 public:
  /// Connects, with TCP_NODELAY. `congestion`: as TCP_CONGESTION; empty: the system's.
  /// Error: unknown host, refused, or no answer before the deadline.
  static Socket connect(const net::Address& to, Clock::time_point deadline,
                        const std::string& congestion = "");

  /// All of it. PeerGone; Error: not before the deadline.
  void send(bytes::View octets, Clock::time_point deadline);
  /// At least one octet; returns how many. PeerGone; Error: none before the deadline.
  std::size_t receive(bytes::Span into, Clock::time_point deadline);

  /// Non-blocking.
  int fd() const { return fd_.get(); }

 private:
  friend class Listener;
  explicit Socket(Descriptor fd);

  Descriptor fd_;
};

class Listener {
 public:
  /// Error: unknown host, not an address of this machine, or in use.
  explicit Listener(const net::Address& at, const std::string& congestion = "");

  std::uint16_t port() const { return port_; }
  /// Null: nobody came before the deadline.
  std::optional<Socket> accept(Clock::time_point deadline);

 private:
  Descriptor fd_;
  std::uint16_t port_ = 0;
};

/// The congestion control that a connection has which asks for `name`; empty: for none.
std::string congestion_in_effect(const std::string& name);

}  // namespace iwarp::apps::measure
