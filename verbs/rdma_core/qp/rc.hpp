// SPDX-License-Identifier: Apache-2.0
// Queue pairs of types RC and UC, which have a connection. As RoCE, UC is RC without what UC does
// not have.
#pragma once

#include <boost/container/static_vector.hpp>
#include <condition_variable>

#include "qp/link_fsm.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {

class BringUp;

/// What rdma_init_qp_attr() gives for the peer's queue pair, whose number no iWARP peer tells: a
/// connection of the CM is meant. No queue pair has it.
inline constexpr verbs::QpNum kQpOfTheCm = 0;

struct RcQp final : Qp {
  explicit RcQp(Context& its_context);

  BringUp& bring_up;                  ///< of the process; used without rdma_cm, and for the number
  LinkState link = LinkState::kNone;  ///< under the mutex; link_step() changes it
  bool end_told = false;  ///< the log has said why the connection ended; under Core's lock
  std::condition_variable unlinked;                 ///< `link` is kNone again
  verbs::Access inbound = verbs::QpInit().inbound;  ///< what the peer may do
  int said = 0;  ///< IBV_QP_* bits: which of `attributes` the program has set
  /// rdma_connect()'s or rdma_accept()'s rnr_retry_count: how often the peer repeats a Send that
  /// finds no receive here. Empty: it is not connected by rdma_cm.
  std::optional<std::uint8_t> cm_rnr_retry;
  net::QpHandle core;  ///< ends before the rest
  /// Of one that is connected to itself: the end that sends; `core` is the one that receives.
  net::QpHandle to_itself;

  bool is_to_itself() const { return to_itself != nullptr; }
  verbs::QueuePair& sender() const { return is_to_itself() ? *to_itself : *core; }
  boost::container::static_vector<verbs::QueuePair*, 2> ends() const {
    if (is_to_itself()) return {core.get(), to_itself.get()};
    return {core.get()};
  }
  // With the mutex locked.
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

// What the CM and the bring-up without it need of a queue pair; qp/states.cpp.
/// It is connected: the program sees RTS, but in ibv_qp only what it does itself.
void qp_connected(RcQp& qp);
/// In the program's thread: it reads of the connection, and sees RTS there as well.
void show_connected(RcQp& qp);
/// Its connection is over, or did not come about: the program sees ERR, and all that is posted is
/// flushed.
void qp_disconnected(RcQp& qp);
/// Its connection is over, and no CM tells: state and receives stay as they are for the program.
void qp_peer_left(RcQp& qp);
/// Behind that: a request has waited for long enough. ERR, and its completion says so.
void qp_retry_exceeded(RcQp& qp);
/// Its core's connection ended by an error of either end, and not because the peer left.
bool is_in_error(const verbs::QpAttributes& core);
/// The connection is to end. As RoCE the queue pair is in ERR and all that was posted is flushed;
/// of an RNIC it drains first (SQD) unless `flush`. False: the peer may still ask about what it
/// sent last, call it again.
bool close_connection(RcQp& qp, bool flush);
/// What its queues may get from now on: all once the program has given it up.
void qp_announce(RcQp& qp, verbs::Announce which);
/// Posts requests that were built call by call, all or none; an errno.
int post_built(RcQp& qp, std::span<const verbs::SendWr> wrs);

}  // namespace iwarp::rdma_core
