// SPDX-License-Identifier: Apache-2.0
// Connection: one MPA endpoint, one DDP stream and one RDMAP stream under a queue pair, without
// sockets, threads or a clock. It says where the next octets of TCP go and which leave next; a
// driver moves them. Single-threaded by contract: whoever drives it holds its lock.
//
// The driver's loop: fill receive_plan(), call received(); send transmit_plan(), call
// transmitted(); then take event()s, obey wish(), and set a timer for timeout(). Every call may
// change what the others say, so ask again after each.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/mpa/framer.hpp"
#include "iwarp/verbs/connection_event.hpp"
#include "iwarp/verbs/connection_options.hpp"
#include "iwarp/verbs/counters.hpp"
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
  /// Initiator: TCP is connected. False: private data too long.
  bool connect(bytes::View private_data, TimePoint now);
  /// Responder: TCP is connected.
  void listen(TimePoint now);
  /// Responder, after kRequest. False: private data too long, or not asked.
  bool accept(QueuePair& qp, bytes::View private_data, std::uint16_t ird, std::uint16_t ord,
              TimePoint now);
  bool reject(bytes::View private_data, TimePoint now);
  /// The EMSS as the socket knows it; may change while the connection lives. [MPA-49] [DDP-1]
  void set_emss(std::size_t octets);

  // Octets --------------------------------------------------------------------------------------
  /// Where the next octets go; empty: read nothing now (the stream is held). Valid until the next
  /// non-const call.
  std::span<const bytes::Span> receive_plan();
  /// receive_plan() is not empty.
  bool takes_octets() const;
  void received(std::size_t n, TimePoint now);
  /// The next octets to send, in at most `limit` pieces; empty: nothing.
  std::span<const bytes::View> transmit_plan(std::size_t limit, TimePoint now);
  /// False: transmit_plan() would be empty, and all else is as it was. Cheaper than to ask it.
  bool may_have_output() const;
  void transmitted(std::size_t n, TimePoint now);
  void peer_closed(TimePoint now);  ///< FIN
  void lost(TimePoint now);         ///< reset, or any error of the socket

  // Control -------------------------------------------------------------------------------------
  void disconnect(TimePoint now);
  void terminate(const bytes::Fault& fault, TimePoint now);
  void abort(TimePoint now);
  /// A receive was posted: go on with a held stream.
  void resume(TimePoint now);
  /// The region is invalid: no octet of it may be touched after this call.
  void revoke(const Region& region, TimePoint now);

  // Poll ----------------------------------------------------------------------------------------
  std::optional<ConnectionEvent> event();
  /// To be obeyed once transmit_plan() is empty.
  Wish wish();
  /// All that was begun has left, so that a FIN now leaves the peer with whole messages. Where
  /// set-up is not over there is nothing to be left with: false.
  bool at_rest() const;
  std::optional<TimePoint> timeout() const;
  void handle_timeout(TimePoint now);
  const mpa::Startup& startup() const { return startup_; }
  mpa::Mulpdu mulpdu() const { return mulpdu_; }
  /// After a rejection: what was received behind the Reply, the ULP's own. Nothing more is read.
  bytes::View read_ahead() const { return read_ahead_; }
  QueuePair* qp() const { return qp_; }
  /// Both layers' counts added up; system calls are the driver's.
  Counters counters() const;

 private:
  struct Full;  ///< exists in full operation: framer, deframer, stream

  bool step(ConnectionCause cause);
  void startup_received(bytes::View octets, TimePoint now);
  void startup_progress(TimePoint now);
  void enter_full_operation(TimePoint now);
  void refuse_full_operation(const mpa::Failure& failure, TimePoint now);
  void establish();
  bool is_gated() const;
  void open_gate();
  void run_inbound(TimePoint now);
  void inbound_fault(const bytes::Fault& fault);
  void begin_early();
  bool take_ulpdu(TimePoint now);
  void segment_done();
  void settle(TimePoint now);
  void stream_ended(TimePoint now);
  void close_progress(TimePoint now);
  void close_when_drained(TimePoint now);
  void close_terminated();
  void extend_close(TimePoint now);
  bool more_to_frame() const;
  void fill_framer(TimePoint now);
  void over(ConnectionCause cause, Wish wish);
  bool discarding() const;
  bool is_rejected() const;
  void update_mulpdu();

  const mpa::Role role_;
  QueuePair* qp_;
  QpDriver& driver_;
  const ConnectionOptions options_;
  WireTap* tap_;
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
  Wish wish_ = Wish::kNone;
  std::optional<TimePoint> close_deadline_;
};

}  // namespace iwarp::verbs
