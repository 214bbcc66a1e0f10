// SPDX-License-Identifier: Apache-2.0
// DatagramSocket: a UDP socket for IPv6 and IPv4 that sends from a given local address, reports the
// local address of each received datagram, and sends or receives several datagrams with one system
// call.
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
  /// Opens a socket that is bound to every address of this host. Port 0 means the lowest free port
  /// of `range`, or, without a range, a port that the system chooses. Fails with the system's
  /// error, for example std::errc::address_in_use.
  static std::expected<DatagramSocket, std::error_code> open(std::uint16_t port, PortRange range);
  /// Opens a socket and binds it to one address of this host, or binds it to a multicast group and
  /// joins that group on `interface` (an index; 0 for the interface that the routing table
  /// selects). Several sockets can be bound to a group; each receives the datagrams of the
  /// interfaces on which it has joined the group. Fails with the system's error.
  static std::expected<DatagramSocket, std::error_code> open_at(const IpAddress& at,
                                                                unsigned interface,
                                                                std::uint16_t port);
  /// Opens a socket, binds it to `own_port` and connects it to `port` of the peer of `path`. The
  /// socket sends all datagrams to that peer, and the kernel delivers to it only datagrams from
  /// that peer. Datagrams that arrived after binding and before connecting may be from other peers.
  /// All sockets of `own_port` must have share_port(true) during the call. Fails with the system's
  /// error, or std::errc::invalid_argument if `path` mixes IPv4 and IPv6.
  static std::expected<DatagramSocket, std::error_code> open_to(const DatagramPath& path,
                                                                std::uint16_t port,
                                                                std::uint16_t own_port);
  /// Sets whether other sockets of this user may bind the port of this socket (SO_REUSEPORT).
  void share_port(bool may) const;

  /// Joins, on one more interface, the group to which the socket is bound. Do not call for a
  /// link-local group, which belongs to a single interface. Fails with the system's error.
  std::error_code join(const IpAddress& group, unsigned interface) const;

  /// Returns the descriptor, which the object owns.
  int fd() const { return fd_.get(); }
  /// Returns the port to which the socket is bound.
  std::uint16_t port() const { return port_; }
  /// Asks the kernel for a receive buffer of `octets` octets. The kernel may grant fewer.
  void request_room(int octets) const;
  /// Returns the number of datagrams, modulo 2^32, that the kernel has dropped because the buffer
  /// was full or a UDP checksum was wrong. Returns 0 if the kernel does not report this number.
  std::uint32_t lost() const;

  static constexpr std::size_t kBatch = 16;  ///< maximum number of datagrams per system call
  /// A datagram that was received.
  struct Received {
    bytes::Span room;      ///< memory for the datagram, set by the caller
    std::size_t size = 0;  ///< number of octets received
    bool is_cut = false;   ///< whether the datagram was longer than `room`
    DatagramPath path;
    std::uint16_t port = 0;  ///< UDP port of the peer
  };
  /// Receives at most kBatch datagrams and returns their number. Skips queued ICMP errors of
  /// earlier sends.
  std::size_t receive(std::span<Received> into) const;
  /// Returns whether a datagram can be received.
  bool has_any() const;

  /// A datagram to send.
  struct Sending {
    DatagramPath path;
    std::uint16_t port = 0;   ///< UDP port of the peer
    std::span<iovec> pieces;  ///< memory that holds the octets of the datagram
  };
  /// Result of send().
  struct Sent {
    std::size_t count = 0;  ///< number of datagrams that the kernel accepted
    unsigned calls = 1;     ///< number of system calls made
  };
  /// Sends at most kBatch datagrams. If the kernel accepts fewer, errno says why it did not accept
  /// the next datagram. After EAGAIN the kernel may accept that datagram later; after any other
  /// error the kernel will never accept it. Consecutive datagrams of the same size and path, whose
  /// `pieces` also follow each other in memory, pass through the kernel as one message (UDP GSO) if
  /// the kernel supports that.
  Sent send(std::span<const Sending> datagrams) const;

 private:
  std::size_t send(std::span<const Sending> datagrams, std::size_t longest_run) const;

  DatagramSocket(UniqueFd fd, bool is_v6, std::uint16_t port)
      : fd_(std::move(fd)), is_v6_(is_v6), port_(port) {}

  UniqueFd fd_;
  bool is_v6_ = true;
  std::uint16_t port_ = 0;
  bool is_connected_ = false;
  IpAddress own_{};  ///< local address of a connected socket
};

/// Returns whether the address is a multicast group.
bool is_multicast(const IpAddress& address);
/// Returns whether the address is link-local. A link-local address denotes a different host or
/// group on each interface.
bool is_local_to_link(const IpAddress& address);

}  // namespace iwarp::net
