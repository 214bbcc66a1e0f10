// SPDX-License-Identifier: Apache-2.0
// Carrier: what lies between MPA and the TCP socket of a connection, in the place of nothing. The
// driver moves octets in two calls, send and receive; a connection without a carrier has them made
// on the socket. iwarp::tls makes one. A further one, such as an adaptation to SCTP's streams,
// would be a factory like that: neither the driver nor the core knows which there are.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace iwarp::net {

/// The connected TCP socket below a carrier. Never waits, raises no SIGPIPE.
class CarrierSocket {
 public:
  /// Does not own `fd`.
  explicit CarrierSocket(int fd) : fd_(fd) {}
  /// As send(2).
  ssize_t send(std::span<const std::byte> octets) const;
  /// As recv(2).
  ssize_t receive(std::span<std::byte> octets) const;

 private:
  int fd_;
};

/// Why a carrier gave up.
struct CarrierFailure {
  std::string why;  ///< for people; printable
  /// TCP ended where the carrier's own end was to come: another try may do better.
  bool cut_short = false;
};

/// Of one connection, and used under its lock. The failures are errno's, as of the calls named.
class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Takes octets of `plan`, in order, of which it needs nothing afterwards; also sends what it
  /// holds. As sendmsg(2), but 0: nothing to be sent before the peer's next octets.
  virtual ssize_t send(std::span<const iovec> plan) = 0;
  /// As recvmsg(2): less than `plan` has room for only if no more is there. 0: the peer has ended
  /// its half in order; where TCP ends without that, ECONNRESET.
  virtual ssize_t receive(std::span<const iovec> plan) = 0;
  /// Has taken what the socket has not: send() again, with an empty plan, when that has room.
  virtual bool holds_output() const = 0;
  /// receive() has something to say, whatever the socket has.
  virtual bool holds_input() const = 0;
  /// Nothing more will be sent: the end of our half, to go out as all else. More than once: as
  /// once.
  virtual void close() = 0;
  /// What holds_output() is about, for who takes over.
  virtual std::vector<std::byte> take_output() = 0;
  /// Null: none so far.
  virtual const CarrierFailure* failure() const = 0;
  /// Who the peer has proven to be, and by what, for people; empty before it has.
  virtual std::string peer_identity() const = 0;
};

class CarrierFactory {
 public:
  virtual ~CarrierFactory() = default;
  /// `host`: whom the program asked for, when it connects. Null: no memory. Thread safe.
  virtual std::unique_ptr<Carrier> make(CarrierSocket socket, const std::string& host) const = 0;
};

}  // namespace iwarp::net
