// SPDX-License-Identifier: Apache-2.0
// Connection: one MPA endpoint, one DDP stream and one RDMAP stream under a queue pair, without
// sockets, threads or a clock. Call with the driver's lock held. The driver's loop: fill
// receive_plan(), call received(); send transmit_plan(), call transmitted(); take event()s, act on
// socket_action(), set a timer for timeout().
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/verbs/connection_event.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/counters.hpp"
#include "iwarp/verbs/incidents.hpp"
#include "iwarp/verbs/qp_driver.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::verbs {

enum class ConnectionState : std::uint8_t;  // see connection_fsm.hpp in src
enum class ConnectionCause : std::uint8_t;

class Connection {
 public:
  /// `qp` is null for a responder until accept(); `tap` may be null. `driver` owns this object; the
  /// queue pair shares in it while it is connected. All three outlive this.
  Connection(mpa::Role role, QueuePair* qp, QpDriver& driver, const ConnectionOptions& options,
             WireTap* tap);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Set-up --------------------------------------------------------------------------------------
  bool connect(bytes::View private_data, TimePoint now);  ///< initiator; false: data too long
  void listen(TimePoint now);                             ///< responder: TCP is connected
  /// Responder, after kRequest. False: private data too long, or not asked.
  bool accept(QueuePair& qp, bytes::View private_data, std::uint16_t ird, std::uint16_t ord,
              TimePoint now);
  bool reject(bytes::View private_data, TimePoint now);
  void set_emss(std::size_t octets);  ///< the socket's; may change at any time [MPA-49] [DDP-1]

  // Octets --------------------------------------------------------------------------------------
  /// Where the next octets go, until the next non-const call; empty: read nothing now.
  std::span<const bytes::Span> receive_plan();
  bool takes_octets() const;  ///< receive_plan() is not empty
  void received(std::size_t n, const Now& now);
  /// The next octets to send, in at most `limit` pieces; empty: nothing.
  std::span<const bytes::View> transmit_plan(std::size_t limit, const Now& now);
  Output output() const;  ///< kNone: transmit_plan() would be empty. Cheaper than to ask it
  bool may_have_output() const { return output() != Output::kNone; }
  void let_posts_wait() const;  ///< for the consumer's next poll
  void transmitted(std::size_t n, const Now& now);
  void peer_closed(TimePoint now);      ///< FIN
  void lost(TimePoint now);             ///< reset, or any error of the socket
  void send_faulted(TimePoint now);     ///< EFAULT: memory of transmit_plan() is not there
  void receive_faulted(TimePoint now);  ///< the same of receive_plan()
  void note_peer_seen(TimePoint at);  ///< its TCP has shown then that it is there: see answer_due()

  // Control -------------------------------------------------------------------------------------
  void disconnect(TimePoint now);
  void terminate(const bytes::Fault& fault, TimePoint now);
  void abort(TimePoint now);
  void resume(TimePoint now);  ///< a receive was posted: go on with a held stream
  void revoke(const Region& region, TimePoint now);    ///< invalid: it is not touched any more
  void withdraw(const Region& region, TimePoint now);  ///< by the peer; our requests go on

  // Poll ----------------------------------------------------------------------------------------
  std::optional<ConnectionEvent> event();
  SocketAction socket_action();  ///< to be done once transmit_plan() is empty
  bool is_steady() const;  ///< true: that octets moved has brought no event, action or timeout
  bool at_rest() const;    ///< all begun has left: a FIN now leaves whole messages. Not in set-up
  bool awaits_ack_request(TimePoint now);  ///< as it ends: ConnectionOptions::ack_request_wait
  bool awaits_peer() const;                ///< responder: set-up waits for its Request, or its RTR
  std::optional<TimePoint> timeout() const;
  std::optional<TimePoint> answer_due() const;  ///< one of them: see PeerTimeouts::answer
  void handle_timeout(TimePoint now);
  const mpa::Startup& startup() const { return startup_; }
  mpa::Mulpdu mulpdu() const { return mulpdu_; }
  bytes::View read_ahead() const { return read_ahead_; }  ///< rejected: what is behind the Reply
  QueuePair* qp() const { return qp_; }
  Counters counters() const;  ///< of all layers; system calls are the driver's
  Incidents incidents() const;
  StreamEnd end() const;  ///< Cause::kNone until the stream has ended, or if it never began

 private:
  struct Full;  ///< exists in full operation: framer, deframer, stream
  static constexpr mpa::Failure kLost{.fault = mpa::kTcpLost};
  bool step(ConnectionCause cause);
  void startup_received(bytes::View octets, TimePoint now);
  void startup_progress(TimePoint now);
  void enter_full_operation(TimePoint now);
  void refuse_full_operation(const mpa::Failure& failure, TimePoint now);
  void establish();
  void tell_states();
  void open_gate();
  void run_inbound(const Now& now, std::size_t filled = 0);
  void take_fpdus(const Now& now);
  void memory_gone(const std::byte* address);
  void inbound_fault(const bytes::Fault& fault);
  void local_error();
  void begin_early();
  void break_early(bytes::View memory);
  bool take_ulpdu(const Now& now);
  void hold_for_receive(TimePoint now);
  bool segment_done();
  void settle(const Now& now);
  void note_end(StreamEnd::Cause cause);
  void stream_ended(TimePoint now);
  void close_progress(TimePoint now);
  void close_when_drained(TimePoint now);
  void close_terminated();
  void extend_close(const Now& now);
  bool startup_is_over();
  void fill_framer(const Now& now);
  void frame_segments(const Now& now);
  void over(ConnectionCause cause, SocketAction action, const mpa::Failure& unestablished = kLost);
  bool discarding() const;
  bool is_rejected() const;
  void give_up_if_due(TimePoint now);
  void update_mulpdu();

  const mpa::Role role_;
  QueuePair* qp_;
  QpDriver& driver_;
  const ConnectionOptions options_;
  std::uint16_t asked_ord_;  ///< by the program
  WireTap* tap_;
  std::unique_ptr<class Observed> observed_;  ///< null: nobody observes; outlives full_
  mpa::Startup startup_;
  mpa::StartupState startup_told_ = mpa::StartupState::kIdle;
  mpa::Mulpdu mulpdu_;
  std::size_t emss_ = 0;
  ConnectionState state_;
  std::unique_ptr<Full> full_;
  std::vector<std::byte> scratch_;  ///< startup frames, and what is read only to be dropped
  bytes::Span scratch_plan_;
  bytes::View startup_out_;
  bytes::View read_ahead_;  ///< in scratch_
  std::span<const bytes::Span> last_receive_plan_;
  std::span<const bytes::View> last_transmit_plan_;
  std::deque<ConnectionEvent> events_;
  SocketAction socket_action_ = SocketAction::kNone;
};

}  // namespace iwarp::verbs
