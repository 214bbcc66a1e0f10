// SPDX-License-Identifier: Apache-2.0
// DatagramRSocket: a datagram rsocket. It has a queue pair of type UD, and a UDP socket that is
// bound to the address of the rsocket. Messages are sent over UDP until the queue pair of the peer
// is known. Messages that are too long for a queue pair are always sent over UDP. The rsocket has
// no thread: each call of the application processes the messages that have arrived over UDP or at
// the queue pair.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "iwarp/net/unique_fd.hpp"
#include "rsockets/common/socket.hpp"
#include "rsockets/datagrams/endpoint.hpp"
#include "rsockets/datagrams/peers.hpp"
#include "rsockets/datagrams/wire.hpp"

namespace iwarp::rdma_core::rsockets {

class DatagramRSocket final : public Socket {
 public:
  /// Throws std::system_error if the sockets cannot be opened.
  explicit DatagramRSocket(int family);
  ~DatagramRSocket() override;

  int bind(const sockaddr* address, socklen_t length) override;
  int connect(const sockaddr* address, socklen_t length) override;
  int close() override;
  Result receive(Pieces into, int flags, Arrival* arrival) override;
  Result send(Pieces from, int flags, const sockaddr* to, socklen_t length) override;
  bool names_peers() const override { return true; }
  int local_address(sockaddr* out, socklen_t* length) override;
  int peer_address(sockaddr* out, socklen_t* length) override;

 private:
  void progress() override;
  short state(short wanted) override;
  SocketCq* queue() override { return endpoint_ != nullptr ? &endpoint_->cq() : nullptr; }
  int fd() override { return endpoint_ != nullptr ? either_.get() : -1; }
  int set_own_option(int level, int name, const void* value, socklen_t length,
                     std::optional<int> number) override;
  int get_own_option(int level, int name, void* value, socklen_t* length) override;
  bool has_fixed_sizes() const override { return has_buffers(); }
  bool has_buffers() const override { return endpoint_ != nullptr; }

  struct Message {
    UdpAddress from;
    std::uint32_t scope;
    std::optional<std::uint32_t> slot;  ///< nullopt if the message came over UDP and is in `copy`
    std::vector<std::byte> copy;
    std::span<const std::byte> octets;
  };
  struct Dropped {
    std::uint64_t malformed = 0;
    std::uint64_t unasked = 0;  ///< control messages that do not answer a message of this rsocket
    /// Messages whose header contains a sender address that differs from the source address of the
    /// datagram.
    std::uint64_t forged = 0;
    /// Messages of peers other than the one to which the rsocket is connected.
    std::uint64_t strangers = 0;
  };
  struct Target {
    UdpAddress place;
    std::uint32_t scope = 0;
  };

  int open();
  bool takes_from(const UdpAddress& place) const {
    return !connected_ || connected_->place == place;
  }
  std::expected<Target, int> target_of(const sockaddr* to, socklen_t length) const;
  bool take_udp();
  void take_udp_message(std::span<const std::byte> octets, const sockaddr& from);
  /// Returns the version of the header for messages to this peer.
  Version version_of(const Peer& peer) const;
  void answer(Peer& peer, std::size_t received);
  /// Returns the count of the reason to drop a message that came from `from`, or null to keep it.
  std::uint64_t* fault_of(const std::optional<Decoded<QpHeader>>& message, const UdpAddress& from);
  bool take_queue_pair();
  void watch_udp(bool wanted);
  void find_own(Peer& peer);
  void consume();
  Result send_by_queue_pair(Peer& peer, Pieces from, std::size_t length);
  Result send_by_udp(Lock& lock, const Target& to, Pieces from, int flags);
  void log_dropped() const;

  net::UniqueFd udp_;
  /// An epoll descriptor, which is readable if udp_ or the queue pair has an event.
  net::UniqueFd either_;
  Version own_version_;
  std::optional<Target> connected_;
  std::unique_ptr<DatagramEndpoint> endpoint_;
  Peers peers_;
  std::deque<Message> messages_;
  std::vector<DatagramEndpoint::Received> received_;
  std::size_t by_udp_ = 0;  ///< number of elements of messages_ that came over UDP
  bool watches_udp_ = false;
  Dropped dropped_;
};

}  // namespace iwarp::rdma_core::rsockets
