// SPDX-License-Identifier: Apache-2.0
// Queue pairs of types RC and UC, which have a connection. UC exists as RoCE only, and is RC
// without the operations that UC lacks.
#pragma once

#include <boost/container/static_vector.hpp>
#include <condition_variable>

#include "qp/link_fsm.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {

class BringUp;

/// The number that rdma_init_qp_attr() returns for the peer's queue pair, because iWARP peers do
/// not send their queue pair numbers. ibv_modify_qp() recognizes by this number that the CM
/// connects the queue pair. No queue pair has this number.
inline constexpr verbs::QpNum kQpOfTheCm = 0;

struct RcQp final : Qp {
  explicit RcQp(Context& its_context);

  BringUp& bring_up;  ///< shared by the process; connects without rdma_cm, assigns numbers
  LinkState link = LinkState::kNone;  ///< guarded by the mutex; link_step() changes it
  /// Set when the log has the reason why the connection ended. Guarded by Core's lock.
  bool end_told = false;
  std::condition_variable unlinked;                 ///< notified when `link` becomes kNone
  verbs::Access inbound = verbs::QpInit().inbound;  ///< access rights of the peer
  int said = 0;  ///< IBV_QP_* bits of those `attributes` that the program has set
  /// rnr_retry_count of rdma_connect() or rdma_accept(): how often the peer repeats a Send that
  /// finds no receive here. Empty if the queue pair was not connected by rdma_cm.
  std::optional<std::uint8_t> cm_rnr_retry;
  net::QpHandle core;  ///< destroyed before the members above
  /// Null unless the queue pair is connected to itself. In that case this end sends, and `core`
  /// receives.
  net::QpHandle to_itself;

  bool is_to_itself() const { return to_itself != nullptr; }
  verbs::QueuePair& sender() const { return is_to_itself() ? *to_itself : *core; }
  boost::container::static_vector<verbs::QueuePair*, 2> ends() const {
    if (is_to_itself()) return {core.get(), to_itself.get()};
    return {core.get()};
  }
  // Call with the mutex locked.
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
  int post_staged() override;
  int bind(ibv_mw& mw, const ibv_mw_bind& bind) override;
  bool end() override;
  void abandon() noexcept override;
};

// Functions for the CM and for the bring-up without it, defined in qp/states.cpp.
/// Call when the queue pair has been connected. If rdma_cm connected it, sets its state to RTS, but
/// not ibv_qp::state, which changes only in the program's thread (see show_connected()).
void qp_connected(RcQp& qp);
/// Call in the program's thread when it reads the event of the connection. Sets ibv_qp::state to
/// RTS.
void show_connected(RcQp& qp);
/// Call when the connection has ended or failed. Moves the queue pair to ERR and flushes all posted
/// requests.
void qp_disconnected(RcQp& qp);
/// Call when a connection has ended that rdma_cm did not make, so that no event reports its end.
/// The program still sees the same state of the queue pair, and its receives stay posted.
void qp_peer_left(RcQp& qp);
/// Call when a request has waited too long after qp_peer_left(). Moves the queue pair to ERR, and
/// completes the request with IBV_WC_RETRY_EXC_ERR.
void qp_retry_exceeded(RcQp& qp);
/// Returns true if the core's connection ended because one end found an error, and false if it
/// ended because the peer departed.
bool is_in_error(const verbs::QpAttributes& core);
/// Ends the connection. As RoCE, moves the queue pair to ERR and flushes all posted requests. The
/// queue pair of an RNIC first sends its outstanding requests (SQD) unless `flush` is set. Returns
/// false if the peer may still probe whether its last messages arrived; the caller must then repeat
/// the call.
bool close_connection(RcQp& qp, bool flush);
/// Sets which completions of the queue pair its completion queues may announce. If the queue pair
/// is in ERR, they may announce all of them.
void qp_announce(RcQp& qp, verbs::Announce which);
/// Posts requests that were built call by call: all of them, or none. Returns 0 or an errno.
int post_built(RcQp& qp, std::span<const verbs::SendWr> wrs);

}  // namespace iwarp::rdma_core
