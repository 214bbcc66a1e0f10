// SPDX-License-Identifier: Apache-2.0
// DatagramDoor: one socket of a datagram queue pair, and the reactor's waits for that socket. A
// queue pair has one door for its own socket, one for each multicast group, and one for each peer
// to which it has a connected socket.
#pragma once

#include <memory>
#include <optional>

#include "driver/socket_set.hpp"
#include "driver/socket_waits.hpp"
#include "iwarp/net/datagram_socket.hpp"

namespace iwarp::net {

struct DatagramDoor {
  struct Peer {
    DatagramPath path;
    std::uint16_t port = 0;
    bool operator==(const Peer&) const = default;
  };

  DatagramDoor(Worker& worker, DatagramSocket its_socket, Driven& driven)
      : socket(std::move(its_socket)),
        waits(std::make_shared<SocketWaits>(worker)),
        watched(socket.fd(), driven) {}
  ~DatagramDoor() {
    waits->release();
    watched.close();
  }
  DatagramDoor(const DatagramDoor&) = delete;
  DatagramDoor& operator=(const DatagramDoor&) = delete;

  DatagramSocket socket;
  /// Multicast group of the socket; all zeros if the socket belongs to no group.
  IpAddress group{};
  unsigned interface = 0;    ///< interface on which the group was joined first
  std::optional<Peer> peer;  ///< peer to which the socket is connected, if any
  /// The reactor's pending waits for the socket. The handlers of these waits share this object and
  /// may outlive the door.
  const std::shared_ptr<SocketWaits> waits;
  WatchedSocket watched;
  std::size_t expected = 1;     ///< number of datagrams to request in the next receive call
  std::uint32_t lost = 0;       ///< DatagramSocket::lost() when losses were last counted
  std::uint64_t last_sent = 0;  ///< value of DatagramCounters::sent when this socket last sent
};

}  // namespace iwarp::net
