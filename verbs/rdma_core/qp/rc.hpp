// SPDX-License-Identifier: Apache-2.0
// Queue pairs of types RC and UC, which have a connection. UC, which exists only with
// IWARP_AS=roce, is implemented as RC without Reads and atomics.
#pragma once

#include <boost/container/static_vector.hpp>
#include <condition_variable>
#include <string>

#include "iwarp/verbs/queue_pair_port.hpp"
#include "qp/link_fsm.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {

class BringUp;

/// rdma_init_qp_attr() returns this number in place of the number of the peer's queue pair, which
/// an iWARP peer does not send. If the program passes this number to ibv_modify_qp() as
/// dest_qp_num, the CM and not BringUp connects the queue pair. No queue pair has this number.
inline constexpr verbs::QpNum kQpOfTheCm = 0;

struct RcQp final : Qp {
  explicit RcQp(Context& its_context);

  /// All queue pairs of the process share this object. It connects queue pairs without rdma_cm, and
  /// assigns their numbers.
  BringUp& bring_up;
  LinkState link = LinkState::kNone;  ///< guarded by Qp::mutex; changed by link_step()
  /// Whether the reason for the end of the connection was already logged. Guarded by the lock of
  /// Core.
  bool end_reported = false;
  /// The address of the peer, if the peer ended the connection without an error and the program may
  /// not know it yet. Guarded by Qp::mutex.
  std::string left_by;
  std::condition_variable unlinked;                 ///< notified when `link` becomes kNone
  verbs::Access inbound = verbs::QpInit().inbound;  ///< the peer's access rights
  int said = 0;  ///< mask of IBV_QP_* bits: which of the `attributes` the program has set
  /// The program's rnr_retry_count from rdma_connect() or rdma_accept(): how often the peer repeats
  /// a Send that finds no receive at this end. Empty if the queue pair was not connected through
  /// rdma_cm.
  std::optional<std::uint8_t> cm_rnr_retry;
  net::QpHandle core;  ///< the core's queue pair; destroyed before the members above
  /// A second queue pair of the core if the queue pair is connected to itself, otherwise null. The
  /// second queue pair sends all requests, and `core` receives them.
  net::QpHandle to_itself;

  bool is_to_itself() const { return to_itself != nullptr; }
  verbs::QueuePair& sender() const { return is_to_itself() ? *to_itself : *core; }
  boost::container::static_vector<verbs::QueuePair*, 2> ends() const {
    if (is_to_itself()) return {core.get(), to_itself.get()};
    return {core.get()};
  }
  /// Return whether ibv_post_send() and ibv_post_recv() accept work in the current state. With
  /// InfiniBand, a queue pair in RESET accepts none, and a queue pair before RTS accepts no
  /// requests (volume 1, section 10.3.1). An RNIC accepts both in every state. [IBV-457, IBV-458]
  bool takes_requests() const {
    return state.load(std::memory_order_relaxed) >= IBV_QPS_RTS || is_rnic();
  }
  bool takes_receives() const {
    return state.load(std::memory_order_relaxed) != IBV_QPS_RESET || is_rnic();
  }
  bool is_uc() const { return abi.qp_base.qp_type == IBV_QPT_UC; }
  bool is_rnic() const { return context.persona == Persona::kIwarp; }
  // Call the next three functions with Qp::mutex locked.
  bool is_connected() const { return link == LinkState::kByHand || link == LinkState::kByCm; }
  bool is_by_hand() const { return link == LinkState::kAwaited || link == LinkState::kByHand; }
  void link_step(LinkEvent event) {
    link = bytes::step(kLinkEdges, link, event).value_or(link);
    if (link == LinkState::kNone) unlinked.notify_all();
  }

  verbs::QpNum make_core() override;
  void enter() override;
  int modify(const ibv_qp_attr& attr, int mask) override;
  int to_error() override;
  ibv_qp_state describe(ibv_qp_attr& attr) const override;
  int post(ibv_send_wr*& wr) override;
  int receive(ibv_recv_wr*& wr) override;
  int convert_staged() override;
  int post_staged() override;
  int bind(ibv_mw& mw, const ibv_mw_bind& bind) override;
  void end() override;
  void abandon() noexcept override;
};

// The CM and BringUp call the functions below, which are defined in qp/states.cpp.
/// Call when the queue pair has been connected. If rdma_cm connected the queue pair, sets Qp::state
/// to RTS. Does not change ibv_qp::state, which only a thread of the program may change; see
/// show_connected().
void qp_connected(RcQp& qp);
/// Call in the program's thread when the program reads the event ESTABLISHED. Sets ibv_qp::state to
/// RTS.
void show_connected(RcQp& qp);
/// Call when the connection has ended or failed. Moves the queue pair to ERR and flushes all posted
/// requests.
void qp_disconnected(RcQp& qp);
/// Call when a connection that was made without rdma_cm has ended, and no event can report the end.
/// The state that the program sees does not change, and the receives of the queue pair stay posted.
void qp_peer_departed(RcQp& qp);
/// Call when a request has waited too long for the peer after qp_peer_departed(). Moves the queue
/// pair to ERR, and completes the request with IBV_WC_RETRY_EXC_ERR.
void qp_retry_exceeded(RcQp& qp);
/// Returns whether `event` reports that the peer ended the connection without an error, while this
/// end was in RTS. Call before qp_disconnected().
bool leaves(const RcQp& qp, const net::CmEvent& event);
void note_left(RcQp& qp, std::string peer);
/// Logs that a request failed because the peer had ended the connection, and clears RcQp::left_by.
/// The default level of the log does not contain the end itself, because most programs end in this
/// way. Call with the queue pair's mutex locked.
void log_left(RcQp& qp);
/// Returns true if the core's connection ended because one of its ends found an error. Returns
/// false if the connection ended because the peer closed it or could not be reached any more, or
/// because this end had no receive for a Send, which is an error only of the peer.
bool is_in_error(const verbs::QpAttributes& core);
/// Ends the connection. With IWARP_AS=roce, or if `flush` is set, flushes all posted requests at
/// once. Otherwise the queue pair first sends its outstanding requests. The queue pair goes to ERR
/// (RoCE) or SQD (RNIC). Returns false while the peer may still ask this end to acknowledge the
/// peer's last messages. The caller must then repeat the call.
bool close_connection(RcQp& qp, bool flush);
/// Derives how long the queue pair waits for its peer from the attributes that the program has set,
/// and from RcQp::cm_rnr_retry. Call with Qp::mutex locked.
void set_peer_timeouts(RcQp& qp);
/// Sets which completions of the queue pair may be pushed to its completion queues. If the queue
/// pair is in ERR, ignores `which` and pushes all completions.
void qp_announce(RcQp& qp, verbs::Announce which);

}  // namespace iwarp::rdma_core
