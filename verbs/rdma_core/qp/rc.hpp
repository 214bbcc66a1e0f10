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

/// The number that rdma_init_qp_attr() returns for the peer's queue pair, because no iWARP peer
/// sends its number. It stands for a connection of the CM. No queue pair has it.
inline constexpr verbs::QpNum kQpOfTheCm = 0;

struct RcQp final : Qp {
  explicit RcQp(Context& its_context);

  BringUp& bring_up;                  ///< the process's; connects without rdma_cm, assigns numbers
  LinkState link = LinkState::kNone;  ///< under the mutex; link_step() changes it
  bool end_told = false;  ///< the log has said why the connection ended; under Core's lock
  std::condition_variable unlinked;                 ///< notified when `link` becomes kNone
  verbs::Access inbound = verbs::QpInit().inbound;  ///< what the peer may do
  int said = 0;  ///< IBV_QP_* bits: which of `attributes` the program has set
  /// rnr_retry_count of rdma_connect() or rdma_accept(): how often the peer repeats a Send that
  /// finds no receive here. Empty if the queue pair was not connected by rdma_cm.
  std::optional<std::uint8_t> cm_rnr_retry;
  net::QpHandle core;  ///< destroyed before the members above
  /// If the queue pair is connected to itself: the end that sends; `core` is the one that receives.
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
/// The queue pair is connected. If rdma_cm connected it, its state becomes RTS; ibv_qp::state
/// changes only in the program's thread, see show_connected().
void qp_connected(RcQp& qp);
/// The program reads the event of the connection: sets ibv_qp::state to RTS. Call in the program's
/// thread.
void show_connected(RcQp& qp);
/// The connection ended or failed: moves the queue pair to ERR and flushes all posted requests.
void qp_disconnected(RcQp& qp);
/// The connection ended, and no CM reports it: the program still sees the same state and its
/// receives still posted.
void qp_peer_left(RcQp& qp);
/// A request has waited for too long after qp_peer_left(): moves the queue pair to ERR, and
/// completes the request with IBV_WC_RETRY_EXC_ERR.
void qp_retry_exceeded(RcQp& qp);
/// Returns whether the core's connection ended with an error of either end, and not because the
/// peer departed.
bool is_in_error(const verbs::QpAttributes& core);
/// Ends the connection. As RoCE the queue pair goes to ERR and all posted requests are flushed; an
/// RNIC's drains first (SQD) unless `flush`. Returns false if the peer may still probe for the last
/// messages that it sent; call it again then.
bool close_connection(RcQp& qp, bool flush);
/// Sets which completions the queues may announce. All are announced once the queue pair is in ERR.
void qp_announce(RcQp& qp, verbs::Announce which);
/// Posts requests that were built call by call: all of them, or none. Returns 0 or an errno.
int post_built(RcQp& qp, std::span<const verbs::SendWr> wrs);

}  // namespace iwarp::rdma_core
