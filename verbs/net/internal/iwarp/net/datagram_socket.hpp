// SPDX-License-Identifier: Apache-2.0
// DatagramSocket: a UDP socket for IPv6 and IPv4 that knows the local address of each datagram, in
// both directions, and sends and receives several datagrams by one system call.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <expected>
#include <span>
#include <system_error>

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::net {

using verbs::DatagramPath;
using verbs::IpAddress;
using verbs::is_ipv4;

/// A UDP socket. Non-blocking. Movable; the destructor closes it. Not thread-safe.
class DatagramSocket {
 public:
  DatagramSocket() = default;
  /// Binds to every address of this host. Port 0: the lowest free port of `range`, or one that the
  /// system chooses. Fails with the system's error, std::errc::address_in_use for example.
  static std::expected<DatagramSocket, std::error_code> open(std::uint16_t port, PortRange range);
  /// Binds to one address of this host, or to a multicast group that is joined on `interface` (an
  /// index; 0: as the routing table says). Several sockets can be bound to a group; each receives
  /// the datagrams of the interfaces on which it has joined. Fails with the system's error.
  static std::expected<DatagramSocket, std::error_code> open_at(const IpAddress& at,
                                                                unsigned interface,
                                                                std::uint16_t port);
  /// Binds to `own_port` and connects to `port` of the peer of `path`: all datagrams that it sends
  /// go there, and the kernel gives it those that come from there. Datagrams that arrived before it
  /// was connected may be from other peers. All sockets of the port must have share_port(true)
  /// meanwhile. Fails with the system's error, or std::errc::invalid_argument if `path` mixes IPv4
  /// and IPv6.
  static std::expected<DatagramSocket, std::error_code> open_to(const DatagramPath& path,
                                                                std::uint16_t port,
                                                                std::uint16_t own_port);
  /// Sets whether other sockets of this user may bind its port (SO_REUSEPORT).
  void share_port(bool may) const;

  /// Joins the group to which it is bound on another interface. Not for link-local groups, which
  /// belong to their interface. Fails with the system's error.
  std::error_code join(const IpAddress& group, unsigned interface) const;

  /// Returns the descriptor, which the object owns.
  int fd() const { return fd_.get(); }
  /// Returns the port to which it is bound.
  std::uint16_t port() const { return port_; }
  /// Asks the kernel for a receive buffer of that many octets; it may grant fewer.
  void ask_for_room(int octets) const;
  /// Returns how many datagrams the kernel dropped, for want of room or because of a wrong UDP
  /// checksum, modulo 2^32; 0 if it does not say.
  std::uint32_t lost() const;

  static constexpr std::size_t kBatch = 16;  ///< datagrams per system call
  /// A datagram that was received.
  struct Received {
    bytes::Span room;      ///< set by the caller: memory for the datagram
    std::size_t size = 0;  ///< octets received
    bool is_cut = false;   ///< the datagram was longer than `room`
    DatagramPath path;
    std::uint16_t port = 0;  ///< the peer's
  };
  /// Receives at most kBatch datagrams and returns their number. Skips queued ICMP errors of
  /// earlier sends.
  std::size_t receive(std::span<Received> into) const;
  /// Returns whether a datagram can be received.
  bool has_any() const;

  /// A datagram to send.
  struct Sending {
    DatagramPath path;
    std::uint16_t port = 0;   ///< the peer's
    std::span<iovec> pieces;  ///< the octets
  };
  /// Result of send().
  struct Sent {
    std::size_t count = 0;  ///< datagrams that the kernel accepted
    unsigned calls = 1;     ///< system calls made
  };
  /// Sends at most kBatch datagrams. errno says why the next one was not accepted: EAGAIN, it may
  /// be later; any other value, it never will. Consecutive datagrams of one size and path, whose
  /// pieces are consecutive in memory too, pass through the kernel as one (UDP GSO) if it supports
  /// that.
  Sent send(std::span<const Sending> datagrams) const;

 private:
  std::size_t send(std::span<const Sending> datagrams, std::size_t longest_run) const;

  DatagramSocket(UniqueFd fd, bool is_v6, std::uint16_t port)
      : fd_(std::move(fd)), is_v6_(is_v6), port_(port) {}

  UniqueFd fd_;
  bool is_v6_ = true;
  std::uint16_t port_ = 0;
  bool is_connected_ = false;
  IpAddress own_{};  ///< its local address, if it is connected
};

/// Returns whether the address is that of a multicast group.
bool is_multicast(const IpAddress& address);
/// Returns whether the address is link-local: it means another host or group on each interface.
bool is_local_to_link(const IpAddress& address);

}  // namespace iwarp::net
