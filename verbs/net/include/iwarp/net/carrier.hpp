// SPDX-License-Identifier: Apache-2.0
// Carrier: an optional transport between MPA and the TCP socket of a connection, for example TLS;
// without a carrier, MPA uses the socket directly. iwarp::tls provides a carrier for TLS. The
// driver sends and receives through this interface and does not know which carriers exist.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace iwarp::net {

/// The connected TCP socket that a carrier uses. Its functions neither block nor raise SIGPIPE.
class CarrierSocket {
 public:
  /// Does not own `fd`.
  explicit CarrierSocket(int fd) : fd_(fd) {}
  /// Sends as send(2) does. Returns -1 and sets errno on failure.
  ssize_t send(std::span<const std::byte> octets) const;
  /// Receives as recv(2) does. Returns -1 and sets errno on failure.
  ssize_t receive(std::span<std::byte> octets) const;

 private:
  int fd_;
};

/// Why a carrier failed.
struct CarrierFailure {
  std::string why{};  ///< the reason, as a sentence of printable characters
  /// Whether TCP was closed without a close message of the carrier. If true, a retry may succeed.
  bool cut_short = false;
};

/// The carrier of one connection. The driver calls it with the connection's lock held. send() and
/// receive() return -1 and set errno on failure, as system calls do.
class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Accepts octets of `plan`, in order, and returns the number accepted, as sendmsg(2) does. Does
  /// not use the memory of the accepted octets after the call. Also sends pending output. Returns 0
  /// if the carrier must receive octets from the peer before it can send.
  virtual ssize_t send(std::span<const iovec> plan) = 0;
  /// Receives as recvmsg(2) does. Fills `plan` completely, or as far as octets are available, and
  /// returns their number. Returns 0 if the peer has closed its half of the carrier. Fails with
  /// ECONNRESET if the peer has closed TCP without closing the carrier.
  virtual ssize_t receive(std::span<const iovec> plan) = 0;
  /// Returns whether octets that send() accepted still have to be sent. If so, call send(), with an
  /// empty plan if necessary, when the socket is writable.
  virtual bool holds_output() const = 0;
  /// Returns whether receive() has a result even if the socket has no input.
  virtual bool holds_input() const = 0;
  /// Half-closes the connection after pending output has been sent; idempotent.
  virtual void close() = 0;
  /// Removes and returns the pending output, so that another object can send it.
  virtual std::vector<std::byte> take_output() = 0;
  /// Returns why the carrier failed, or null if it has not. Valid while the carrier exists.
  virtual const CarrierFailure* failure() const = 0;
  /// Returns a text that says which identity the peer has proven, and how. The text is empty until
  /// the peer has proven one.
  virtual std::string peer_identity() const = 0;
};

/// Makes the carriers of connections.
class CarrierFactory {
 public:
  virtual ~CarrierFactory() = default;
  /// Makes the carrier of a connected socket, which the carrier does not own. `host` is the host to
  /// which the application connects; empty for a responder. Returns null if memory runs out.
  /// Thread-safe.
  virtual std::unique_ptr<Carrier> make(CarrierSocket socket, const std::string& host) const = 0;
};

}  // namespace iwarp::net
