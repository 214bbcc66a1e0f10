// SPDX-License-Identifier: Apache-2.0
// The object behind an ibv_qp, as objects/objects.hpp has the others.
#pragma once

#include "iwarp/net/datagram_qp.hpp"
#include "objects/objects.hpp"
#include "qp/link_fsm.hpp"

namespace iwarp::rdma_core {

/// What rdma_init_qp_attr() gives for the peer's queue pair, whose number no iWARP peer tells: a
/// connection of the CM is meant. No queue pair has it.
inline constexpr verbs::QpNum kQpOfTheCm = 0;

struct Qp {
  explicit Qp(Context& its_context) : context(its_context) {}

  ibv_qp_ex abi{};  ///< first; ibv_qp is its beginning
  LaterFields later{};
  Context& context;
  ContextUse use{context};
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* recv_cq = nullptr;
  Srq* srq = nullptr;
  ibv_qp_cap cap{};
  bool signal_all = false;
  std::mutex mutex;  ///< of state and attributes
  /// As the program knows it. The core has no INIT and RTR: it is Idle until it is connected.
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  LinkState link = LinkState::kNone;  ///< under the mutex; link_step() changes it
  bool end_told = false;  ///< the log has said why the connection ended; under Core's lock
  std::condition_variable unlinked;  ///< `link` is kNone again
  bool last_wqe_told = false;        ///< IBV_EVENT_QP_LAST_WQE_REACHED, once in each error state
  verbs::Access inbound = verbs::QpInit().inbound;  ///< what the peer may do
  ibv_qp_attr attributes{};  ///< what ibv_modify_qp() was told, for ibv_query_qp()
  int said = 0;              ///< which of them: IBV_QP_* bits
  /// rdma_connect()'s or rdma_accept()'s rnr_retry_count: how often the peer repeats a Send that
  /// finds no receive here. Empty: it is not connected by rdma_cm.
  std::optional<std::uint8_t> cm_rnr_retry;
  std::atomic<std::uint32_t> async_events{0};
  /// Requests between ibv_wr_start() and ibv_wr_complete(), see qp/builders.cpp.
  struct Staged;
  std::unique_ptr<Staged, void (*)(Staged*)> staged{nullptr, nullptr};
  Turn builder;        ///< who is between ibv_wr_start() and ibv_wr_complete()
  net::QpHandle core;  ///< ends before the rest; null of UD
  std::unique_ptr<net::DatagramQp> datagrams;  ///< of UD alone
  /// Of one that is connected to itself: the end that sends; `core` is the one that receives.
  net::QpHandle to_itself;

  verbs::QueuePair& sender() { return to_itself != nullptr ? *to_itself : *core; }
  // With the mutex locked.
  bool is_connected() const { return link == LinkState::kByHand || link == LinkState::kByCm; }
  bool is_by_hand() const { return link == LinkState::kAwaited || link == LinkState::kByHand; }
  void link_step(LinkEvent event) {
    link = bytes::step(kLinkEdges, link, event).value_or(link);
    if (link == LinkState::kNone) unlinked.notify_all();
  }
  static Qp& of(ibv_qp* qp) { return *reinterpret_cast<Qp*>(qp); }
  static Qp& of(ibv_qp_ex* qp) { return *reinterpret_cast<Qp*>(qp); }
  ibv_qp* handle() { return &abi.qp_base; }
  verbs::QpNum num() const { return abi.qp_base.qp_num; }
  Core::QpKind kind() const {
    return datagrams != nullptr ? Core::QpKind::kDatagrams : Core::QpKind::kConnection;
  }
};

// What the CM and the bring-up without it need of a queue pair; queue_pair.cpp.
/// It is connected: the program sees RTS, but in ibv_qp only what it does itself.
void qp_connected(Qp& qp);
/// In the program's thread: it reads of the connection, and sees RTS there as well.
void show_connected(Qp& qp);
/// Its connection is over, or did not come about: the program sees ERR, and all that is posted is
/// flushed.
void qp_disconnected(Qp& qp);
/// Its connection is over, and no CM tells: state and receives stay as they are for the program.
void qp_peer_left(Qp& qp);
/// Behind that: a request has waited for long enough. ERR, and its completion says so.
void qp_retry_exceeded(Qp& qp);
/// Its core's connection ended by an error of either end, and not because the peer left.
bool is_in_error(const verbs::QpAttributes& core);
/// The connection is to end. As RoCE the queue pair is in ERR and all that was posted is flushed;
/// of an RNIC it drains first (SQD) unless `flush`. False: the peer may still ask about what it
/// sent last, call it again.
bool close_connection(Qp& qp, bool flush);
/// What its queues may get from now on: all once the program has given it up.
void qp_announce(Qp& qp, verbs::Announce which);

// What the files about queue pairs share.
/// What the builders of qp/builders.cpp need; called once, while the queue pair is made.
void enable_builders(Qp& qp);
/// Posts requests that were built call by call, all or none; an errno; post.cpp and datagrams.cpp.
int post_built(Qp& qp, std::span<const verbs::SendWr> wrs);
int post_built(Qp& qp, std::span<const verbs::DatagramWr> wrs);
/// IBV_EVENT_QP_LAST_WQE_REACHED, once, if the queue pair is in error and has a shared receive
/// queue: it takes no receive from there any more.
void tell_last_wqe(Qp& qp);
void push_event(Qp& qp, ibv_event_type type);
/// To the error state, as by ibv_modify_qp(); qp/states.cpp.
int to_error(Qp& qp);

}  // namespace iwarp::rdma_core
