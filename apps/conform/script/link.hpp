// SPDX-License-Identifier: Apache-2.0
// Link: one TCP connection to the peer under test, with blocking calls that have a deadline. Sends
// exactly the given octets, in one segment per call if TCP permits it, and distinguishes FIN from
// reset. A stop signal ends every wait with Interrupted. It uses neither MPA nor the project's
// driver, so that a case can send any octets.
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

/// Thrown if the peer under test cannot be reached, so that there is nothing to test.
class Unreachable : public Error {
 public:
  using Error::Error;
};

/// Options of a socket, which are set before it connects.
struct LinkOptions {
  int mss = 0;             ///< MSS to advertise in the SYN; 0: the system default
  std::string congestion;  ///< name of the congestion control; empty: the system default
};

class Link {
 public:
  Link() = default;
  explicit Link(int socket) : socket_(socket) {}
  Link(Link&& o) noexcept;
  Link& operator=(Link&& o) noexcept;
  ~Link();

  /// Connects. Throws Unreachable if the peer refuses or does not answer before the deadline, and
  /// Error if the host is unknown.
  static Link connect(const net::Address& to, Clock::time_point deadline,
                      const LinkOptions& options = {});

  /// Sends `octets`. Returns false if the peer has closed or reset the connection, or does not
  /// read. Cases ignore the result, because what the peer sends shows the error.
  bool send(bytes::View octets, Clock::time_point deadline);
  /// Returns the MSS that our SYN advertised, minus the TCP options of each segment.
  std::uint32_t advertised_mss() const;
  void half_close();
  void reset();

  enum class Got : std::uint8_t { kOctets, kClosed, kReset, kNothing };
  /// Receives octets into `into` and sets `size`, or reports a FIN, a RST, or that nothing arrived
  /// before the deadline.
  Got receive(bytes::Span into, std::size_t& size, Clock::time_point deadline);

  explicit operator bool() const { return socket_ >= 0; }
  /// Returns the descriptor, which is non-blocking.
  int fd() const { return socket_; }

 private:
  void close();

  int socket_ = -1;
};

/// Accepts connections from the peer under test.
class Acceptor {
 public:
  /// Listens at `at`. Throws Error if that fails.
  explicit Acceptor(const net::Address& at);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::uint16_t port() const { return port_; }
  /// Sets the options of all connections that are accepted from now on.
  void prepare(const LinkOptions& options);
  /// Closes all pending connections. They come from a peer that retried on its own, so no case
  /// waits for them.
  void turn_away();
  /// Returns the next connection, or an empty Link if none arrives before the deadline.
  Link accept(Clock::time_point deadline);

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace iwarp::apps::conform
