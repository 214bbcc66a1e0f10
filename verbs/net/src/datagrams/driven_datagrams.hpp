// SPDX-License-Identifier: Apache-2.0
// DrivenDatagrams: the sockets of one verbs::DatagramQueuePair, and the lock that protects both.
// The queue pair is driven like a connection: a posting thread sends at once; a thread that polls
// an empty completion queue receives; otherwise the worker receives. Datagrams that arrive while no
// receive is posted stay in the kernel's bounded buffer until a receive is posted; then the driver
// drops them.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "driver/drive_turn.hpp"
#include "driver/socket_set.hpp"
#include "driver/socket_waits.hpp"
#include "iwarp/net/datagram_socket.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"
#include "iwarp/verbs/datagram_tap.hpp"
#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::net {

/// One socket of a datagram queue pair, and the reactor's waits for that socket. A queue pair has
/// one door for its own socket, one for each multicast group, and one for each peer to which it has
/// a connected socket.
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

class DrivenDatagrams final : public verbs::Waiter, public DriveTurn<DrivenDatagrams> {
  friend DriveTurn;

 public:
  /// Only std::make_shared() may call the constructor.
  DrivenDatagrams(Worker& worker, const verbs::DatagramQpInit& init, verbs::StagTable& stags,
                  DatagramSocket socket, std::shared_ptr<verbs::DatagramTap> tap);
  ~DrivenDatagrams() override;

  // DatagramQp calls the following functions.
  std::error_code post_send(std::span<const verbs::DatagramWr> wrs, std::size_t& posted);
  std::error_code post_all(std::span<const verbs::DatagramWr> wrs);
  std::error_code post_recv(const verbs::RecvWr& wr);
  std::error_code set_state(verbs::DatagramState state);
  std::error_code attach(const IpAddress& group, std::span<const unsigned> interfaces);
  std::error_code detach(const IpAddress& group);
  bool is_attached();
  verbs::DatagramQueuePair& core() { return core_; }
  verbs::DatagramCounters counters();
  /// Closes the sockets. Returns when no thread drives them any more.
  void end();
  /// Detaches the queue pair from its completion queues. Call after end().
  void leave_queues() { core_.leave_queues(); }

  // Overrides of Driven.
  void poll(bool frequent) override;
  void join(std::shared_ptr<SocketSet> set) override;
  void leave(const SocketSet* set) override;
  // A socket may be ready only because of an error, which receive() skips. So while the application
  // has a descriptor for the socket, a woken thread must ask the set whether there is input.
  bool is_blocked() const override { return is_exposed(); }
  void flush_posts() override {}
  bool may_hold_posts() const override { return !lock_.is_idle(); }

  // Overrides of Waiter. A shared receive queue that was empty calls resume_soon() when the next
  // receive is posted.
  void resume_soon() override;
  void receive_imminent() override;

 private:
  /// update the events for which the sockets wait
  static constexpr std::uint32_t kArm = kFirstOwn;
  using Door = DatagramDoor;
  /// upper bound of the number of datagrams in a socket buffer
  static constexpr std::size_t kDrained = 16 * 1024;

  static constexpr bool follows_polls() { return true; }
  void note_taken() override;
  std::error_code join(const IpAddress& group, unsigned interface);
  void run(std::uint32_t work, bool by_worker);
  void drive(std::uint32_t work);
  Door& add_door(DatagramSocket socket);
  void transmit();
  Door* door_to(const DatagramSocket::Sending& one) const;
  std::size_t send(std::span<const DatagramSocket::Sending> datagrams);
  void note_peer(const DatagramSocket::Sending& last);
  bool connect_often();
  bool make_room_for_peer();
  void report_sent(std::span<const DatagramSocket::Sending> sent);
  void report_received(const Door& door, const DatagramSocket::Received& one);
  void watch(Door& door, const std::shared_ptr<SocketSet>& set) noexcept;
  std::error_code post_first_recv(const verbs::RecvWr& wr);
  void drop_unreceived();
  void drain();
  void count_lost(Door& door);
  bool receive();
  bool receive(Door& door);
  std::size_t take(Door& door, std::size_t room);
  void arm();
  void await(Door& door, SocketWaits::Kind kind, std::uint32_t work);

  verbs::DatagramQueuePair core_;
  const std::shared_ptr<verbs::DatagramTap> tap_;  ///< null if no tap observes the datagrams
  // Guarded by lock_.
  std::deque<std::unique_ptr<Door>> doors_;  ///< the first door has the queue pair's own socket
  std::vector<std::shared_ptr<SocketSet>> sets_;
  Door* sender_ = nullptr;   ///< the door that the last send call used
  Door* blocked_ = nullptr;  ///< the door whose socket buffer is full
  std::size_t peers_ = 0;    ///< number of doors with a connected socket
  DatagramDoor::Peer last_peer_;
  /// number of consecutive send calls to last_peer_ through the first door
  unsigned calls_in_a_row_ = 0;
  /// Upper bound of the number of datagrams in the first door's socket that may have arrived before
  /// the datagrams in the sockets of peers. The first door's datagrams are received first, to keep
  /// the order.
  std::size_t older_ = 0;
  mpa::TimePoint empty_since_{};  ///< time at which input_ became kHeld
  unsigned looks_ = 0;
};

}  // namespace iwarp::net
