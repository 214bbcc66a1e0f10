// SPDX-License-Identifier: Apache-2.0
// Link: one TCP connection to the peer under test, with blocking calls that have a deadline. A Link
// sends exactly the octets that the case passes, in one segment per call if TCP permits it, and it
// distinguishes FIN from reset. A stop signal ends every wait with Interrupted. A Link uses neither
// MPA nor the project's driver, so a case can send any octets.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/net/address.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::apps::conform {

using Clock = std::chrono::steady_clock;

/// Thrown if the peer under test cannot be reached. In this case there is nothing to test.
class Unreachable : public Error {
 public:
  /// `advice` says what the user can do, see net::connect_advice().
  explicit Unreachable(const std::string& reason, std::string_view advice = {})
      : Error(reason + std::string(advice)), why(reason) {}

  const std::string why;  ///< what() without the advice
};

/// Socket options, which are set before the socket connects.
struct LinkOptions {
  int mss = 0;             ///< MSS to advertise in the SYN; 0 means the system default
  std::string congestion;  ///< name of the congestion control; empty means the system default
};

class Link {
 public:
  Link() = default;
  explicit Link(int socket) : socket_(socket) {}
  Link(Link&& o) noexcept;
  Link& operator=(Link&& o) noexcept;
  ~Link();

  /// Connects to the peer. Throws Unreachable if the peer refuses or does not answer before the
  /// deadline, and Error if the host name is unknown.
  static Link connect(const net::Address& to, Clock::time_point deadline,
                      const LinkOptions& options = {});

  /// Sends `octets`. Returns false if the peer has closed or reset the connection, or if the peer
  /// does not read. Cases ignore the result, because they judge the peer by what it sends.
  bool send(bytes::View octets, Clock::time_point deadline);
  /// Returns the MSS that the tester's SYN advertised, less the size of the TCP options in each
  /// segment.
  std::uint32_t advertised_mss() const;
  void half_close();
  void reset();

  enum class Got : std::uint8_t { kOctets, kClosed, kReset, kNothing };
  /// Waits for octets. If octets arrive, copies them to `into` and sets `size` to their number.
  /// Otherwise reports a FIN, a RST, or that the deadline passed.
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
  /// Listens at `at`. Throws Error if this fails.
  explicit Acceptor(const net::Address& at);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::uint16_t port() const { return port_; }
  /// Sets the options of all connections that the Acceptor accepts after this call.
  void prepare(const LinkOptions& options);
  /// Closes all pending connections. No case waits for these connections: the peer opened them when
  /// it retried on its own.
  void turn_away();
  /// Returns the next connection, or an empty Link if none arrives before the deadline.
  Link accept(Clock::time_point deadline);

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace iwarp::apps::conform
