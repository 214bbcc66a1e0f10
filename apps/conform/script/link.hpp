// SPDX-License-Identifier: Apache-2.0
// Link: one TCP connection to the peer under test, as blocking calls with a deadline. It sends
// exactly the octets it is given, one segment per call where TCP lets it, and tells a FIN from a
// reset. A stop signal ends every wait with Interrupted. It knows nothing of MPA; the project's
// driver is not used, so that anything can be sent.
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

/// There is no connection to the peer under test: nothing that a case could judge.
class Unreachable : public Error {
 public:
  using Error::Error;
};

/// Of a socket, from before it connects.
struct LinkOptions {
  int mss = 0;             ///< advertised in the SYN; 0: what the system thinks right
  std::string congestion;  ///< congestion control; empty: the system's
};

class Link {
 public:
  Link() = default;
  explicit Link(int socket) : socket_(socket) {}
  Link(Link&& o) noexcept;
  Link& operator=(Link&& o) noexcept;
  ~Link();

  /// Unreachable: refused, or not there before the deadline. Error: no such host.
  static Link connect(const net::Address& to, Clock::time_point deadline,
                      const LinkOptions& options = {});

  /// False: the peer has closed or reset meanwhile, or does not read; what is lost does not matter
  /// to a test.
  bool send(bytes::View octets, Clock::time_point deadline);
  /// The MSS that our SYN advertised, less the room that TCP options take in each segment.
  std::uint32_t advertised_mss() const;
  void half_close();
  void reset();

  enum class Got : std::uint8_t { kOctets, kClosed, kReset, kNothing };
  /// Some octets into `into` (`size` says how many), FIN, RST, or nothing before the deadline.
  Got receive(bytes::Span into, std::size_t& size, Clock::time_point deadline);

  explicit operator bool() const { return socket_ >= 0; }
  /// Non-blocking.
  int fd() const { return socket_; }

 private:
  void close();

  int socket_ = -1;
};

/// Takes connections of the peer under test.
class Acceptor {
 public:
  /// Error: cannot listen there.
  explicit Acceptor(const net::Address& at);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::uint16_t port() const { return port_; }
  /// For connections that come from now on.
  void prepare(const LinkOptions& options);
  /// Closes the connections that wait here: a peer that tried again was not asked to.
  void turn_away();
  /// An empty Link: nobody came before the deadline. Waits for it even if that is far away.
  Link accept(Clock::time_point deadline);

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace iwarp::apps::conform
