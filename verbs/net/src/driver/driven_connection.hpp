// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: one TCP socket, one verbs::Connection, and the lock under which both are used.
// It is driven by whoever comes: a thread that posts (sends at once, never waits), a thread that
// polls an empty completion queue (receives and sends), or its worker (when the socket is ready or
// a timer runs out). What a newcomer wants while another drives is left to that other.
//
// Lock order: Connector, then this, then the Rnic's registry, then channels and queues.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "driver/drive_turn.hpp"
#include "driver/gathered_posts.hpp"
#include "driver/socket_set.hpp"
#include "driver/socket_waits.hpp"
#include "iwarp/net/carrier.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/region.hpp"
#include "statistics/setup_tally.hpp"

namespace iwarp::net {

class DrivenConnection;

/// What the driver asks of the device it belongs to.
class Registry {
 public:
  /// Under the connection's lock, once, with its final counts. The socket is closed.
  virtual void ended(DrivenConnection& connection) = 0;
  /// Without locks: what is invalid is withdrawn from the peers of all connections.
  virtual void break_pins(verbs::Stag stag) = 0;
  /// Where set-ups are counted. Any time.
  virtual SetupTally& setups_as(mpa::Role role) = 0;
  /// Under the connection's lock: it ends because memory of the program is not there any more.
  virtual void memory_gone(const DrivenConnection& connection, const std::byte* address) = 0;

 protected:
  ~Registry() = default;
};

/// What the program knows of a peer that it accepts. An unknown peer can be evicted until its RTR
/// has arrived.
enum class PeerStanding : std::uint8_t { kUnknown, kRecognized };

/// Who is told what becomes of a connection. Called under its lock; must not wait for anything.
class ConnectionClient {
 public:
  virtual ~ConnectionClient() = default;
  /// Throws std::bad_alloc where there is no memory to tell it, but not for an end: that is told
  /// once, and what comes behind it is not.
  virtual void happened(DrivenConnection& connection, const verbs::Connection& core,
                        const verbs::ConnectionEvent& event) = 0;
  /// What happens from now on is told there.
  virtual void send_to(CmChannel& channel) = 0;
  /// Responder: the program has accepted an unknown peer, and an RTR is to come.
  virtual void awaits_rtr() {}
};

class DrivenConnection final : public verbs::QpDriver, public DriveTurn<DrivenConnection> {
  friend DriveTurn;
  struct Private {};

 public:
  struct Setup {
    mpa::Role role = mpa::Role::kInitiator;
    UniqueFd socket;  ///< connected, non-blocking
    verbs::QueuePair* qp = nullptr;
    verbs::ConnectionOptions options;
    std::unique_ptr<verbs::WireTap> tap;
    std::unique_ptr<ConnectionClient> client;
    std::unique_ptr<Carrier> carrier;  ///< null: bare TCP
  };
  DrivenConnection(Private, Registry& registry, Worker& worker, const Setup& setup);
  ~DrivenConnection() override;
  static std::shared_ptr<DrivenConnection> make(Registry& registry, Worker& worker, Setup setup);
  std::shared_ptr<DrivenConnection> shared() {
    return std::static_pointer_cast<DrivenConnection>(shared_from_this());
  }

  // Set-up. Waits for the lock.
  /// Initiator: sends the Request. False: private data too long.
  bool start(bytes::View private_data);
  /// Responder: awaits the Request.
  void listen();
  std::error_code accept(verbs::QueuePair& qp, bytes::View private_data, std::uint16_t ird,
                         std::uint16_t ord, PeerStanding standing);
  /// The Request is undecided, and the socket open at both ends, as the kernel knows it now.
  bool peer_waits();
  /// `keep`, unless null, becomes the socket, as leave() says.
  std::error_code reject(bytes::View private_data, UniqueFd* keep = nullptr);

  // QpDriver: never waits, except for the lock in depart().
  bool posted(verbs::Doorbell doorbell) override;
  void receive_posted() override;
  void resume_soon() override;
  void break_pins(verbs::Stag stag) override;
  void disconnect() override { kick(kDisconnect); }
  void terminate() override { kick(kTerminate); }
  void abort() override;
  bool depart() override;

  // Driven: for the feeds of its completion queues.
  void poll(bool frequent) override;
  void join(std::shared_ptr<SocketSet> set) override;
  void leave(const SocketSet* set) override { watched_.leave(set); }
  bool is_plain() const override {
    return is_plain_.load(std::memory_order_acquire) && !unwatched_.load(std::memory_order_relaxed);
  }
  bool is_blocked() const override { return is_blocked_.load(std::memory_order_relaxed); }
  void flush_posts() override {
    if (gathered_.any()) kick(kTransmit);
  }
  // A thread that found the lock taken has left its request to the holder.
  bool may_hold_posts() const override { return gathered_.any() || !lock_.is_idle(); }
  void note_taken() override { watched_.note_taken(); }

  const GatheredPosts& gathered() const { return gathered_; }
  // For GatherTimer: true if any have waited since the last call.
  bool flush_late_posts(GatheredPosts::Clock::time_point now);
  /// False: one waits again, so it has to stay.
  bool leave_gather_timer();

  /// The region is invalid: returns when no octet of it can be touched here.
  void revoke(const verbs::Region& region);
  /// The same for what the peer does with it.
  void withdraw(const verbs::Region& region);
  /// Ends what is left of it; nobody is told. Returns when nobody drives it any more. What was
  /// given to TCP still arrives if it can be whole messages; else the connection is reset.
  void end();
  /// As end(), unless its Request has been understood.
  void end_if_unasked();
  /// Resets it if it is its peer's turn in the set-up, and the peer has not sent what it owes;
  /// whoever was told of it is told.
  void end_if_unproven();
  void send_events_to(CmChannel& channel);

  /// Those of its counters() that are final count, too. nullopt: not established.
  std::optional<ConnectionStatistics> statistics();
  /// Ends a set-up; under the lock.
  void refuse(SetupFailure why);

  verbs::Counters counters();
  /// nullopt: the stream has not ended, or the client has been told.
  std::optional<verbs::StreamEnd> stream_end();
  const Address& local() const { return local_; }
  const Address& peer() const { return peer_; }

  // Under the lock, for Registry and ConnectionClient.
  verbs::QueuePair* qp() const { return qp_; }
  const verbs::Counters& final_counters() const { return final_; }
  const verbs::Incidents& final_incidents() const { return final_incidents_; }
  /// After a rejection: the socket, which is used no more here. None: TCP has not taken everything
  /// that was to be said before, or is lost; or there is a carrier.
  UniqueFd leave();
  /// Null: bare TCP.
  const Carrier* carrier() const;
  /// Why the carrier could not be set up. Null: it was, or there is none.
  const CarrierFailure* carrier_failure() const;

 private:
  // Besides DriveTurn::Work:
  static constexpr std::uint32_t kTimer = kFirstOwn;
  static constexpr std::uint32_t kDisconnect = kFirstOwn << 1;
  static constexpr std::uint32_t kTerminate = kFirstOwn << 2;
  static constexpr std::uint32_t kAbort = kFirstOwn << 3;
  struct Active;  ///< what exists while the socket is open
  enum class Close : std::uint8_t {
    kPlain,
    kLingering,  ///< the peer may not be done
    kReset,
  };

  /// What a turn knows of the socket when it begins, or what came of a call.
  enum class Look : std::uint8_t {
    kEmptied,  ///< what there was, the end included, has been taken
    kMayHaveMore,
  };

  void run(std::uint32_t work, bool by_worker);
  template <typename Function>
  bool use(Function function);
  void give_up() noexcept;
  bool close_in_order(Active& a);
  std::uint32_t drive(std::uint32_t work, std::uint32_t arrived, Look look);
  std::uint32_t answer_first(std::uint32_t work, std::uint32_t arrived);
  void control(std::uint32_t work, verbs::TimePoint now);
  bool look_and_receive(std::uint32_t work, Look look);
  bool receive();
  bool take(ssize_t n, std::size_t asked);
  bool look_again();
  Look take_answer();
  bool flush_carrier();
  bool close_carrier();
  void leave_carrier(Close how);
  void await_same();
  bool transmit();
  void socket_failed();
  void finish_turn();
  bool tell_events();
  void do_socket_action();
  bool lift_hold();
  bool has_unread_input() const;
  bool arm();
  bool arm_timer();
  bool has_only_moved_octets() const;
  bool may_transmit(verbs::Output output) const;
  bool asks_later();
  void mode_changed();
  bool update_watched();
  void await(SocketWaits::Kind kind, std::uint32_t work);
  void finish(Close how);
  verbs::Counters count() const;
  void tell(const verbs::ConnectionEvent& event);

  Registry& registry_;
  const Address local_;
  const Address peer_;
  // Written by the holder of lock_ alone.
  std::atomic<bool> is_plain_{false};
  std::atomic<bool> is_blocked_{false};
  WatchedSocket watched_;
  SocketWaits waits_;
  GatheredPosts gathered_;
  std::atomic<bool> in_gather_timer_{false};
  verbs::QueuePair* qp_;
  std::unique_ptr<Active> active_;
  const bool is_outgoing_;
  CountedSetup setup_;
  verbs::Counters final_;
  verbs::Incidents final_incidents_;
};

}  // namespace iwarp::net
