// SPDX-License-Identifier: Apache-2.0
// Link: one TCP connection to the peer under test, as blocking calls with a deadline. Sends exactly
// the given octets, one segment per call if TCP permits it, and distinguishes FIN from reset. A
// stop signal ends every wait with Interrupted. Independent of MPA and of the project's driver, so
// that a case can send anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/error.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/net/address.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::apps::conform {

using Clock = std::chrono::steady_clock;

/// The peer under test cannot be reached, so there is nothing to judge.
class Unreachable : public Error {
 public:
  using Error::Error;
};

/// Options of a socket, set before it connects.
struct LinkOptions {
  int mss = 0;             ///< advertised in the SYN; 0: the system default
  std::string congestion;  ///< congestion control; empty: the system default
};

class Link {
 public:
  Link() = default;
  explicit Link(int socket) : socket_(socket) {}
  Link(Link&& o) noexcept;
  Link& operator=(Link&& o) noexcept;
  ~Link();

  /// Connects. Throws Unreachable if refused or without an answer before the deadline, Error if the
  /// host is unknown.
  static Link connect(const net::Address& to, Clock::time_point deadline,
                      const LinkOptions& options = {});

  /// Sends `octets`. Returns false if the peer has closed or reset the connection, or does not
  /// read; a test ignores lost octets.
  bool send(bytes::View octets, Clock::time_point deadline);
  /// Returns the MSS that our SYN advertised, minus the room for TCP options in each segment.
  std::uint32_t advertised_mss() const;
  void half_close();
  void reset();

  enum class Got : std::uint8_t { kOctets, kClosed, kReset, kNothing };
  /// Receives octets into `into` and sets `size`, or reports FIN, RST, or nothing before the
  /// deadline.
  Got receive(bytes::Span into, std::size_t& size, Clock::time_point deadline);

  explicit operator bool() const { return socket_ >= 0; }
  /// The descriptor is non-blocking.
  int fd() const { return socket_; }

 private:
  void close();

  int socket_ = -1;
};

/// Accepts connections of the peer under test.
class Acceptor {
 public:
  /// Throws Error if it cannot listen at `at`.
  explicit Acceptor(const net::Address& at);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::uint16_t port() const { return port_; }
  /// Sets the options of future connections.
  void prepare(const LinkOptions& options);
  /// Closes pending connections: a peer that retried was not asked to.
  void turn_away();
  /// Returns an empty Link if no connection arrives before the deadline, however far away that is.
  Link accept(Clock::time_point deadline);

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace iwarp::apps::conform
