// SPDX-License-Identifier: Apache-2.0
// DatagramDoor: one socket of a queue pair of datagrams, and who waits for it. There is the queue
// pair's own, one for each group, and one for each of the peers that it has connected sockets to.
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
  unsigned interface = 0;                    ///< where the group was joined first
  std::optional<Peer> peer;                  ///< it is connected to
  const std::shared_ptr<SocketWaits> waits;  ///< their handlers may outlive the door
  WatchedSocket watched;
  std::size_t expected = 1;     ///< so many are asked for at the next look
  std::uint32_t lost = 0;       ///< of DatagramSocket::lost(), what is counted
  std::uint64_t last_sent = 0;  ///< so many the queue pair had sent when it was last sent to
};

}  // namespace iwarp::net
