// SPDX-License-Identifier: Apache-2.0
// DatagramDoor: one socket of a datagram queue pair, and the waits for it. There is one door for
// the queue pair's own socket, one for each group, and one for each peer that the queue pair has a
// connected socket to.
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
  IpAddress group{};                         ///< zeros: none
  unsigned interface = 0;                    ///< on which the group was joined first
  std::optional<Peer> peer;                  ///< that the socket is connected to
  const std::shared_ptr<SocketWaits> waits;  ///< their handlers may outlive the door
  WatchedSocket watched;
  std::size_t expected = 1;     ///< number of datagrams to ask for next time
  std::uint32_t lost = 0;       ///< the part of DatagramSocket::lost() that is counted
  std::uint64_t last_sent = 0;  ///< the queue pair's count when the peer was last sent to
};

}  // namespace iwarp::net
