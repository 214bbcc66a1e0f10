// SPDX-License-Identifier: Apache-2.0
// Carrier: an optional transport between MPA and the TCP socket of a connection, for example TLS;
// without one, MPA uses the socket directly. iwarp::tls provides one. The driver sends and receives
// through this interface and does not know which carriers exist.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace iwarp::net {

/// The connected TCP socket below a carrier. Non-blocking; raises no SIGPIPE.
class CarrierSocket {
 public:
  /// Does not own `fd`.
  explicit CarrierSocket(int fd) : fd_(fd) {}
  /// Sends like send(2): -1 and errno on failure.
  ssize_t send(std::span<const std::byte> octets) const;
  /// Receives like recv(2): -1 and errno on failure.
  ssize_t receive(std::span<std::byte> octets) const;

 private:
  int fd_;
};

/// Why a carrier failed.
struct CarrierFailure {
  std::string why;  ///< a sentence of printable characters
  /// TCP was closed without the carrier's own close: a retry may succeed.
  bool cut_short = false;
};

/// The carrier of one connection. Called under the connection's lock. Calls fail as the system
/// calls that they are compared with: -1 and errno.
class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Accepts octets of `plan`, in order, and returns their number, like sendmsg(2). Does not use
  /// the accepted octets afterwards. Also sends pending output. Returns 0 if nothing can be sent
  /// before the peer's next octets have been received.
  virtual ssize_t send(std::span<const iovec> plan) = 0;
  /// Receives like recvmsg(2). Returns fewer octets than `plan` has room for only if no more are
  /// available. Returns 0 if the peer has closed its half of the carrier; fails with ECONNRESET if
  /// TCP is closed without that.
  virtual ssize_t receive(std::span<const iovec> plan) = 0;
  /// Returns whether accepted octets have not been sent: call send(), with an empty plan if
  /// necessary, when the socket is writable.
  virtual bool holds_output() const = 0;
  /// Returns whether receive() has a result even if the socket has no input.
  virtual bool holds_input() const = 0;
  /// Half-closes the connection after pending output has been sent; idempotent.
  virtual void close() = 0;
  /// Returns the pending output, so that another object can send it, and forgets it.
  virtual std::vector<std::byte> take_output() = 0;
  /// Returns why the carrier failed; null: it has not. Valid while the carrier exists.
  virtual const CarrierFailure* failure() const = 0;
  /// Returns the identity that the peer has proven, and how, in words; empty before it has.
  virtual std::string peer_identity() const = 0;
};

/// Makes the carriers of connections.
class CarrierFactory {
 public:
  virtual ~CarrierFactory() = default;
  /// Makes the carrier of a connected socket, which it does not own. `host` is the host that the
  /// application connects to; empty for a responder. Returns null if there is no memory.
  /// Thread-safe.
  virtual std::unique_ptr<Carrier> make(CarrierSocket socket, const std::string& host) const = 0;
};

}  // namespace iwarp::net
