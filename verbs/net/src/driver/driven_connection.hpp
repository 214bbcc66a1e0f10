// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: one TCP socket, one verbs::Connection, and the lock that protects both. Three
// kinds of threads drive the connection: a posting thread, which sends at once and never waits; a
// thread that polls an empty completion queue or that the socket has woken, which receives and
// sends; and the worker, when the socket is ready or a timer expires. A thread that finds another
// thread driving adds its work to the work of that thread and returns.
//
// Lock order: Connector, DrivenConnection, the Rnic's registry, channels and queues.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

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

/// The interface through which the driver calls its device.
class Registry {
 public:
  /// Reports that the connection has ended: its socket is closed and its counters are final. Called
  /// once, with the connection's lock held.
  virtual void ended(DrivenConnection& connection) = 0;
  /// Ends the use of an invalid region or window by the peers of all connections. Called without
  /// locks held.
  virtual void break_pins(verbs::Stag stag) = 0;
  /// Returns the counters for set-ups in which this end has `role`. Callable at any time.
  virtual SetupTally& setups_as(mpa::Role role) = 0;
  /// Reports that the connection ends because memory of the application cannot be accessed any
  /// more. Called with the connection's lock held.
  virtual void memory_gone(const DrivenConnection& connection, const std::byte* address) = 0;

 protected:
  ~Registry() = default;
};

/// Whether the application has called ConnectRequest::set_recognized() for a peer before accepting
/// it. If the application has not called it, the peer is unknown: its set-up can be evicted until
/// its RTR has arrived.
enum class PeerStanding : std::uint8_t { kUnknown, kRecognized };

/// Receives the events of a connection. Called with the connection's lock held; must not wait.
class ConnectionClient {
 public:
  virtual ~ConnectionClient() = default;
  /// Reports an event. Throws std::bad_alloc if there is no memory to report the event, unless the
  /// event is the end of the connection. The end is the last event and is reported once.
  virtual void happened(DrivenConnection& connection, const verbs::Connection& core,
                        const verbs::ConnectionEvent& event) = 0;
  /// Reports the reason for which the set-up counts as failed, before the event of its end, if
  /// there is one. Must not throw.
  virtual void setup_failed(const DrivenConnection& /*connection*/, SetupFailure /*reason*/,
                            std::string_view /*why*/) noexcept {}
  /// Reports that the application has accepted an unrecognized peer whose RTR has not arrived. The
  /// set-up can be evicted from now on. Only for a responder.
  virtual void awaits_rtr() {}
};

class DrivenConnection final : public verbs::QpDriver, public DriveTurn<DrivenConnection> {
  friend DriveTurn;
  struct Private {};

 public:
  struct Setup {
    mpa::Role role = mpa::Role::kInitiator;
    UniqueFd socket;  ///< connected, non-blocking
    Address local;
    Address peer;  ///< not read from the socket, which may have been reset
    verbs::QueuePair* qp = nullptr;
    verbs::ConnectionOptions options;
    std::unique_ptr<verbs::WireTap> tap;
    std::unique_ptr<ConnectionClient> client;
    std::unique_ptr<Carrier> carrier;  ///< null if MPA uses the TCP socket directly
  };
  DrivenConnection(Private, Registry& registry, Worker& worker, const Setup& setup);
  ~DrivenConnection() override;
  static std::shared_ptr<DrivenConnection> make(Registry& registry, Worker& worker, Setup setup);
  std::shared_ptr<DrivenConnection> shared() {
    return std::static_pointer_cast<DrivenConnection>(shared_from_this());
  }

  // The following functions are called during set-up and wait for the lock.
  /// Initiator: sends the Request. Returns false if the private data is too long.
  bool start(bytes::View private_data);
  /// Responder: waits for the Request.
  void listen();
  std::error_code accept(verbs::QueuePair& qp, bytes::View private_data, std::uint16_t ird,
                         std::uint16_t ord, PeerStanding standing);
  /// Returns whether the application still has to accept or reject the Request and, as far as the
  /// kernel knows, neither end has closed the socket.
  bool peer_waits();
  /// Rejects the Request. Moves the socket to `keep` unless `keep` is null; see leave().
  std::error_code reject(bytes::View private_data, UniqueFd* keep = nullptr);

  // Overrides of QpDriver. They never wait, except that depart() waits for the lock.
  bool posted(verbs::Doorbell doorbell) override;
  void receive_posted() override;
  void resume_soon() override;
  void break_pins(verbs::Stag stag) override;
  void disconnect() override { request(kDisconnect); }
  void terminate() override { request(kTerminate); }
  void abort() override { request(kAbort); }
  bool depart() override;

  // Overrides of Driven, called by the feeds of the completion queues.
  void poll(bool frequent) override;
  void join(std::shared_ptr<SocketSet> set) override;
  void leave(const SocketSet* set) override { watched_.leave(set); }
  bool is_blocked() const override { return output() != OutputState::kIdle; }
  void flush_posts() override {
    if (gathered_.any()) kick(kTransmit);
  }
  // If the lock is held, its holder may still have to send requests that other threads have posted.
  bool may_hold_posts() const override { return gathered_.any() || !lock_.is_idle(); }
  void note_taken() override { watched_.note_taken(); }

  const GatheredPosts& gathered() const { return gathered_; }
  /// What happened to the posts that were held back since the last flush_late_posts().
  enum class HeldPosts : std::uint8_t {
    kNone,    ///< no post was held back
    kInTime,  ///< the application has sent the posts, or the posts are not due yet
    kLate,    ///< the posts were due, and flush_late_posts() has sent them
  };
  /// Sends held-back posts that are due. For GatherTimer.
  HeldPosts flush_late_posts(GatheredPosts::Clock::time_point now);
  /// Removes the connection from the GatherTimer. Returns false if another post has been held back,
  /// in which case the connection has to stay in the timer.
  bool leave_gather_timer();

  /// Call when `region` has become invalid. Returns when this connection cannot access any octet of
  /// the region any more.
  void revoke(const verbs::Region& region);
  /// Like revoke(), but ends only accesses by the peer.
  void withdraw(const verbs::Region& region);
  /// Ends the connection without reporting it, and returns when no thread drives it any more.
  /// Resets the connection if TCP has accepted only a part of a message; otherwise the accepted
  /// messages still arrive. Returns false if the connection had ended before; the client has then
  /// reported the end.
  bool end();
  /// Resets the connection without reporting it, unless the peer's Request has arrived.
  void end_if_unasked();
  /// Evicts the set-up if it waits for the peer's Request or RTR: resets the connection, and
  /// reports that to the client. Otherwise does nothing.
  void end_if_unproven();

  /// Returns the statistics of the connection, which no longer change after the connection has
  /// ended. Returns nullopt if the connection was never established.
  std::optional<ConnectionStatistics> statistics();
  /// Ends a set-up, which failed because of `why`. Call with the lock held.
  void refuse(SetupFailure why);

  verbs::Counters counters();
  /// Returns how the stream ended. Returns nullopt if the stream has not ended, or if the socket is
  /// already closed; the client has then received the event.
  std::optional<verbs::StreamEnd> stream_end();
  const Address& local() const { return local_; }
  const Address& peer() const { return peer_; }

  // Registry and ConnectionClient call the following functions with the lock held.
  verbs::QueuePair* qp() const { return qp_; }
  /// Returns verbs::QpInit::device of the queue pair, or null.
  const char* device() const { return device_; }
  const verbs::Counters& final_counters() const { return final_; }
  const verbs::Incidents& final_incidents() const { return final_incidents_; }
  /// After a rejection, gives up the socket and returns it. Returns an empty UniqueFd if TCP has
  /// not accepted all output, if TCP is lost, or if there is a carrier.
  UniqueFd leave();
  /// Returns the carrier, or null if MPA uses the TCP socket directly.
  const Carrier* carrier() const;
  /// Returns why the carrier could not be set up. Returns null if it was set up, or if the
  /// connection has no carrier.
  const CarrierFailure* carrier_failure() const;

 private:
  /// Returns whether the worker stays off the connection while a thread polls often. With a
  /// Latitude it does not, so that data arrives at any time, as with an adapter.
  bool follows_polls() const;
  static constexpr std::uint32_t kTimer = kFirstOwn;  ///< work in addition to DriveTurn::Work
  struct Active;  ///< the state that exists only while the socket is open
  /// How other threads want the stream to end. A turn does what is requested in this order.
  enum Ending : std::uint8_t { kDisconnect = 1, kTerminate = 2, kAbort = 4 };
  enum class Close : std::uint8_t {
    kPlain,
    kLingering,  ///< half-closes and reads until the peer closes, see LingeringClose
    kReset,
  };

  /// What a turn knows about the socket at its beginning, or after a receive call.
  enum class Look : std::uint8_t {
    kEmptied,  ///< all input, including the end of the stream, has been read
    kMayHaveMore,
  };

  void run(std::uint32_t work, bool by_worker);
  template <typename Function>
  bool use(Function function);
  void give_up() noexcept;
  bool close_in_order(Active& a);
  void reset(SetupFailure why);
  std::uint32_t drive(std::uint32_t work, class HeldNotices* until_answered);
  void request(Ending ending);
  void control(std::uint32_t work);
  bool look_and_receive(std::uint32_t work, Look look);
  bool receive();
  bool take(ssize_t n, std::size_t asked);
  bool repeat_receive();
  Look take_answer();
  void update_buffered();
  bool flush_carrier();
  bool close_carrier();
  void leave_carrier(Close how);
  void await_same();
  using DriveTurn::step;
  [[gnu::cold]] void step(OutputEvent event) { bytes::advance(kOutputEdges, output_, event); }
  OutputState output() const { return output_.load(std::memory_order_relaxed); }
  void transmit();
  void socket_failed();
  void finish_turn();
  bool report_events();
  void do_socket_action();
  bool lift_hold();
  bool arm();
  void arm_timer();
  bool has_only_moved_octets() const;
  bool may_transmit(verbs::Output pending) const;
  bool hold_ack_request();
  void mode_changed();
  void update_watched();
  void await(SocketWaits::Kind kind, std::uint32_t work);
  void finish(Close how);
  verbs::Counters count() const;
  void serve(verbs::QueuePair& qp);
  void tell(const verbs::ConnectionEvent& event);
  void fail_setup(SetupFailure why, std::string_view text = {});

  Registry& registry_;
  const Address local_;
  const Address peer_;
  std::atomic<std::uint8_t> endings_{0};                 ///< a set of Ending
  std::atomic<OutputState> output_{OutputState::kIdle};  ///< only the holder of lock_ writes it
  WatchedSocket watched_;
  GatheredPosts gathered_;
  std::atomic<bool> in_gather_timer_{false};
  std::atomic<std::uint32_t> seen_large_{0};  ///< see GatherTimer::counts_large()
  verbs::QueuePair* qp_;
  const char* device_ = nullptr;  ///< remains when the queue pair has been destroyed
  std::unique_ptr<Active> active_;
  const bool is_outgoing_;
  CountedSetup setup_;
  verbs::Counters final_;
  verbs::Incidents final_incidents_;
};

}  // namespace iwarp::net
