// SPDX-License-Identifier: Apache-2.0
// DatagramDoor: one socket of a queue pair of datagrams, and who waits for it. There is the queue
// pair's own, one for each group, and one for each of the peers that it has connected sockets to.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>

#include "driver/socket_set.hpp"
#include "driver/worker.hpp"
#include "iwarp/net/datagram_socket.hpp"

namespace iwarp::net {

struct DatagramDoor {
  struct Peer {
    DatagramPath path;
    std::uint16_t port = 0;
    bool operator==(const Peer&) const = default;
  };

  DatagramDoor(std::uint64_t its_id, Worker& worker, DatagramSocket its_socket, Driven& driven)
      : id(its_id),
        socket(std::move(its_socket)),
        readiness(worker.context()),
        watched(socket.fd(), driven) {}
  ~DatagramDoor() {
    if (readiness.is_open()) readiness.release();
    watched.close();
  }
  DatagramDoor(const DatagramDoor&) = delete;
  DatagramDoor& operator=(const DatagramDoor&) = delete;

  const std::uint64_t id;  ///< never another's, as an address may be
  DatagramSocket socket;
  IpAddress group{};         ///< zeros: none
  unsigned interface = 0;    ///< where the group was joined first
  std::optional<Peer> peer;  ///< it is connected to
  asio::posix::stream_descriptor readiness;
  WatchedSocket watched;
  bool reading = false;  ///< a wait is pending; only its handler clears this
  bool writing = false;
  std::size_t expected = 1;     ///< so many are asked for at the next look
  std::uint32_t lost = 0;       ///< of DatagramSocket::lost(), what is counted
  std::uint64_t last_sent = 0;  ///< so many the queue pair had sent when it was last sent to
};

}  // namespace iwarp::net
