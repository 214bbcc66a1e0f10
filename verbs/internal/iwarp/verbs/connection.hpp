// SPDX-License-Identifier: Apache-2.0
// Connection: one MPA endpoint, one DDP stream and one RDMAP stream below a queue pair, without
// sockets, threads or a clock.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/mpa/startup.hpp"
#include "iwarp/verbs/connection_event.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/counters.hpp"
#include "iwarp/verbs/now.hpp"
#include "iwarp/verbs/qp_driver.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::verbs {

enum class ConnectionState : std::uint8_t;  // see connection_fsm.hpp in src
enum class ConnectionCause : std::uint8_t;

/// A connection. Not thread-safe: call with the driver's lock held. The driver fills receive_plan()
/// and calls received(), and sends transmit_plan() and calls transmitted(). After received(),
/// transmitted() and every other call that is not const, the driver takes all event()s, carries out
/// socket_action() and sets a timer for timeout().
class Connection {
 public:
  /// `qp` is null for a responder until accept(); `tap` may be null. `qp`, `driver` and `tap` must
  /// outlive the Connection, which `driver` owns. A connected queue pair shares ownership of its
  /// driver.
  Connection(mpa::Role role, QueuePair* qp, QpDriver& driver, const ConnectionOptions& options,
             WireTap* tap);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Set-up --------------------------------------------------------------------------------------
  /// Initiator: queues the Request. Returns false if the private data is too long.
  bool connect(bytes::View private_data, TimePoint now);
  /// Responder: TCP is connected; waits for the Request.
  void listen(TimePoint now);
  /// Responder, after the event kRequest: queues the Reply. `ird` and `ord` are the application's
  /// values. Returns false, and does nothing, if the private data is too long or no Request waits.
  bool accept(QueuePair& qp, bytes::View private_data, std::uint16_t ird, std::uint16_t ord,
              TimePoint now);
  /// Responder, after the event kRequest: queues a Reply that rejects the Request. Returns false in
  /// the same cases as accept().
  bool reject(bytes::View private_data, TimePoint now);
  /// Sets the socket's EMSS (0 if unknown). Call whenever the EMSS changes. [MPA-49] [DDP-1]
  void set_emss(std::size_t octets);

  // Octets --------------------------------------------------------------------------------------
  /// Returns memory for the next octets, valid until the next call that is not const. If it is
  /// empty, do not read from the socket.
  std::span<const bytes::Span> receive_plan();
  /// Returns whether the stream has ended or waits, see resume(). It may still read the answers.
  bool is_held() const;
  /// Processes the first `n` octets of the last receive_plan(), which the driver has filled.
  void received(std::size_t n, const Now& now);
  void rest();  ///< releases the memory if no octet is in it; call when the socket is empty
  /// Returns the next octets to send, in at most `limit` pieces, valid as receive_plan() is. Frames
  /// no further segment while `batch` octets or more are queued; see also transmit_batch.
  std::span<const bytes::View> transmit_plan(std::size_t limit, const Now& now,
                                             std::size_t batch = SIZE_MAX);
  Output output() const;  ///< which kind of output is pending; costs less than transmit_plan()
  /// Returns whether transmit_plan() may be non-empty.
  bool may_have_output() const { return output() != Output::kNone; }
  /// Tells the completion queues that posted requests wait for the application to poll.
  void let_posts_wait() const;
  /// Reports that the first `n` octets of the last transmit_plan() have been sent.
  void transmitted(std::size_t n, const Now& now);
  /// Returns whether a FIN has to wait with a message before it. Then read it again after resume().
  bool delays_fin();
  /// Reports that the peer's FIN arrived. Do not call while delays_fin() returns true.
  void peer_closed(TimePoint now);
  void lost(TimePoint now);  ///< reports that TCP was reset or the socket failed
  /// Reports EFAULT from sending: memory in transmit_plan() is no longer mapped. Get a new plan.
  void send_faulted(TimePoint now);
  /// Reports EFAULT from receiving: memory in receive_plan() is no longer mapped.
  void receive_faulted(TimePoint now);
  /// Reports that the peer's TCP sent or acknowledged octets at time `at`; see answer_due().
  void note_peer_seen(TimePoint at);

  // Control -------------------------------------------------------------------------------------
  /// Closes in order: sends the posted requests and then a FIN. During set-up, resets TCP.
  void disconnect(TimePoint now);
  /// Ends the stream with a Terminate. Does nothing during set-up.
  void terminate(const bytes::Fault& fault, TimePoint now);
  void abort();  ///< resets TCP
  /// Continues a stream that waits for a receive or for memory, if what it waits for is available.
  void resume(TimePoint now);
  /// Ends every access to an invalidated region. The stream ends if a request needs the region.
  void revoke(const struct Region& region, TimePoint now);
  /// Ends only the peer's accesses to an invalidated region; requests of this end continue.
  void withdraw(const Region& region, TimePoint now);

  // Poll ----------------------------------------------------------------------------------------
  /// Returns the next event, or nullopt if there is none.
  std::optional<ConnectionEvent> event();
  /// Returns what to do with the socket once transmit_plan() is empty.
  SocketAction socket_action();
  /// Returns whether event(), socket_action() and timeout() would return nothing new.
  bool is_steady() const;
  /// Returns whether no message is partly sent and a FIN could be sent now. False during set-up.
  bool at_rest() const;
  /// Returns whether a Read or atomic operation of the peer is not answered yet.
  bool owes_answers() const;
  /// Returns whether a close still has to wait, see ConnectionOptions::ack_request_wait.
  bool awaits_ack_request(TimePoint now);
  /// Responder: returns whether set-up waits for the peer's Request or RTR.
  bool awaits_peer() const;
  /// Returns when to call handle_timeout(), or nullopt if no deadline is set.
  std::optional<TimePoint> timeout() const;
  /// Returns when the peer's answer is overdue (PeerTimeouts::answer); part of timeout().
  std::optional<TimePoint> answer_due() const;
  /// Acts on the deadlines that have passed at `now`.
  void handle_timeout(TimePoint now);
  /// Returns the state of the MPA set-up, with the peer's private data and offer.
  const mpa::Startup& startup() const { return startup_; }
  /// Returns the largest ULPDU that may be sent at present.
  mpa::Mulpdu mulpdu() const { return mulpdu_; }
  /// Returns the octets that arrived after the Reply, if the state is kRejected.
  bytes::View read_ahead() const { return read_ahead_; }
  /// Returns the queue pair; null for a responder before accept().
  QueuePair* qp() const { return qp_; }
  /// Returns the counters of all layers. The driver counts the system calls.
  Counters counters() const;
  /// Returns the diagnostic counters.
  Incidents incidents() const;
  /// Returns why the stream ended. Cause::kNone means that the stream has not begun or not ended.
  StreamEnd end() const;

 private:
  struct Full;  ///< framer, deframer and stream, which exist in full operation
  static constexpr mpa::Failure kLost{.fault = mpa::kTcpLost};
  bool step(ConnectionCause cause);
  void startup_received(bytes::View octets, TimePoint now);
  void startup_progress(TimePoint now);
  void enter_full_operation(TimePoint now);
  void refuse_full_operation(const mpa::Failure& failure, TimePoint now);
  void establish();
  void report_states();
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
  void receive_overdue(TimePoint now);
  bool segment_done();
  void settle(const Now& now);
  void note_end(StreamEnd::Cause cause);
  void stream_ended(TimePoint now);
  void close_progress(TimePoint now);
  void close_when_drained(TimePoint now);
  void close_terminated();
  void extend_close(const Now& now);
  bool startup_is_over();
  void frame_segments(const Now& now, std::size_t batch);
  void over(ConnectionCause cause, SocketAction action, const mpa::Failure& unestablished = kLost);
  bool discarding() const;
  bool is_rejected() const;
  void give_up_if_due(TimePoint now);
  void update_mulpdu();

  const mpa::Role role_;
  QueuePair* qp_;
  QpDriver& driver_;
  const ConnectionOptions options_;
  std::uint16_t asked_ird_;  ///< IRD that the application wants
  std::uint16_t asked_ord_;  ///< ORD that the application wants
  WireTap* tap_;
  std::unique_ptr<class Observed> observed_;  ///< null without an observer; must outlive full_
  mpa::Startup startup_;
  mpa::StartupState reported_startup_ = mpa::StartupState::kIdle;
  mpa::Mulpdu mulpdu_;
  std::size_t emss_ = 0;
  ConnectionState state_;
  std::unique_ptr<Full> full_;
  std::vector<std::byte> scratch_;  ///< while in use: receives startup frames and dropped input
  bytes::Span scratch_plan_;
  bytes::View startup_out_;
  bytes::View read_ahead_;  ///< view into scratch_
  std::span<const bytes::Span> last_receive_plan_;
  std::span<const bytes::View> last_transmit_plan_;
  std::deque<ConnectionEvent> events_;
  SocketAction socket_action_ = SocketAction::kNone;
};

}  // namespace iwarp::verbs
