// SPDX-License-Identifier: Apache-2.0
// DatagramSocket: UDP for IPv6 and IPv4 alike, which knows for each datagram to which of our
// addresses it came, and says from which of them each leaves. Not connected, but for open_to();
// never waits; several datagrams for each system call.
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

class DatagramSocket {
 public:
  DatagramSocket() = default;
  /// On every address of this host. Port 0: as bind_tcp() has it.
  static std::expected<DatagramSocket, std::error_code> open(std::uint16_t port, PortRange range);
  /// On one address of this host, also a multicast group that is joined on `interface` (0: of the
  /// routing table). Others may be there as well where it is a group, and what comes on interfaces
  /// where it is not joined is theirs.
  static std::expected<DatagramSocket, std::error_code> open_at(const IpAddress& at,
                                                                unsigned interface,
                                                                std::uint16_t port);
  /// Connected: all that it sends takes this path to this port, and what comes from there to
  /// `own_port` comes to it, for the kernel prefers it. What came before it was connected may be of
  /// others. Between share_port(true) and share_port(false) of all sockets that have the port.
  static std::expected<DatagramSocket, std::error_code> open_to(const DatagramPath& path,
                                                                std::uint16_t port,
                                                                std::uint16_t own_port);
  /// Whether others of this user may be bound to its port.
  void share_port(bool may) const;

  /// The group that it is at, on that interface as well. Not one of a link alone, which is its
  /// interface's.
  std::error_code join(const IpAddress& group, unsigned interface) const;

  int fd() const { return fd_.get(); }
  std::uint16_t port() const { return port_; }
  /// So much is asked of the kernel for what is not read yet; it may give less.
  void ask_for_room(int octets) const;
  /// How many came and were dropped by the kernel, which had no room or found the UDP checksum
  /// wrong; modulo 2^32. 0: it does not say.
  std::uint32_t lost() const;

  static constexpr std::size_t kBatch = 16;
  struct Received {
    bytes::Span room;  ///< where it goes
    std::size_t size = 0;
    bool is_cut = false;  ///< it was longer than the room
    DatagramPath path;
    std::uint16_t port = 0;  ///< the peer's
  };
  /// At most kBatch; how many came. Errors of earlier sends are passed over.
  std::size_t receive(std::span<Received> into) const;
  /// One has come, and is not received.
  bool has_any() const;

  struct Sending {
    DatagramPath path;
    std::uint16_t port = 0;  ///< the peer's
    std::span<iovec> pieces;
  };
  struct Sent {
    std::size_t count = 0;
    unsigned calls = 1;  ///< of the system
  };
  /// At most kBatch; how many have left. The errno says why the next one has not: EAGAIN, it may
  /// later; else it never will. Those in a row of one size and one path, whose pieces are in a row,
  /// too, pass through the kernel as one (UDP GSO) as far as it takes that.
  Sent send(std::span<const Sending> datagrams) const;

 private:
  std::size_t send(std::span<const Sending> datagrams, std::size_t longest_run) const;

  DatagramSocket(UniqueFd fd, bool is_v6, std::uint16_t port)
      : fd_(std::move(fd)), is_v6_(is_v6), port_(port) {}

  UniqueFd fd_;
  bool is_v6_ = true;
  std::uint16_t port_ = 0;
  bool is_connected_ = false;
  IpAddress own_{};  ///< where it is connected
};

bool is_multicast(const IpAddress& address);
/// Whether it is another one behind each interface.
bool is_local_to_link(const IpAddress& address);

}  // namespace iwarp::net
