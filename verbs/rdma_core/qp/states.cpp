// SPDX-License-Identifier: Apache-2.0
// ibv_modify_qp() and ibv_query_qp() for queue pairs of types RC and UC. A program that was written
// for InfiniBand moves its queue pair through INIT, RTR and RTS. An iWARP queue pair is either
// connected or not, so the functions in this file just store these states. The CM makes the
// connection, unless the program names a peer in the step to RTR. In that case BringUp makes it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "device/limits.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "objects/memory_access.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"
#include "qp/bring_up.hpp"
#include "qp/peer_timeouts.hpp"
#include "qp/qp_event.hpp"
#include "qp/rc.hpp"
#include "qp/steps.hpp"

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMostPsn = 0xFFFFFF;

void set_state(RcQp& qp, ibv_qp_state state) {
  qp.state.store(state);
  if (state != IBV_QPS_ERR) qp.last_wqe_reported = false;
}

/// Sets Qp::state, and ibv_qp::state, which only threads of the program may set.
void set_shown_state(RcQp& qp, ibv_qp_state state) {
  set_state(qp, state);
  qp.abi.qp_base.state = state;
}

// [IBV-482, IBV-483]
int check(const RcQp& qp, const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_CAP) != 0) {
    return refused(
        "changing the size of a queue pair",
        "the size is fixed (create the queue pair with the capacities that it will need)");
  }
  if ((mask & IBV_QP_RATE_LIMIT) != 0) {
    return refused("IBV_QP_RATE_LIMIT", "TCP congestion control sets the pace");
  }
  return check_ranges(qp.context.device, attr, mask);
}

/// Returns the stored state, with three exceptions. Returns ERR as soon as the core's connection
/// has ended, which a completion may tell before the dispatcher stores ERR. Returns SQE instead of
/// RTS while a failed request has stopped the send queue. For an RNIC, returns SQD while the core
/// closes a connection of the CM. Call with the queue pair's mutex locked. [IBV-308, IBV-455,
/// IBV-456, IBV-492, IBV-500]
ibv_qp_state state_of(const RcQp& qp) {
  const ibv_qp_state stored = qp.state.load();
  if (stored == IBV_QPS_ERR) return stored;
  const bool by_cm = qp.link == LinkState::kByCm;
  const auto ended = [&](const verbs::QpAttributes& core) {
    switch (core.state) {
      case verbs::QpState::kTerminate:
      case verbs::QpState::kError:
        return by_cm || is_in_error(core);
      case verbs::QpState::kIdle:
        return by_cm;
      default:
        return false;
    }
  };
  const auto core = qp.core->query();
  const auto has_ended = [&](const verbs::QueuePair* end) { return ended(end->query()); };
  if (std::ranges::any_of(qp.ends(), has_ended)) return IBV_QPS_ERR;
  if (stored == IBV_QPS_RTS && verbs::has_stopped_sends(qp.sender())) return IBV_QPS_SQE;
  const bool closes = by_cm && core.state == verbs::QpState::kClosing;
  return closes && qp.is_rnic() ? IBV_QPS_SQD : stored;
}

/// Returns the state that ibv_query_qp() reports. For the queue pair of an RNIC, this is INIT
/// instead of RESET, because a new queue pair of an RNIC accepts receives at once. [IBV-399]
ibv_qp_state reported(const RcQp& qp, ibv_qp_state state) {
  return qp.is_rnic() && state == IBV_QPS_RESET ? IBV_QPS_INIT : state;
}

/// Returns whether `attr` names a peer to which BringUp must connect the queue pair. Returns false
/// if the number of the peer's queue pair is kQpOfTheCm, because the CM then makes the connection.
bool names_peer(const RcQp& qp, const ibv_qp_attr& attr, int mask) {
  const bool is_of_cm = qp.context.persona == Persona::kRoce && attr.dest_qp_num == kQpOfTheCm;
  return (mask & (IBV_QP_AV | IBV_QP_DEST_QPN)) != 0 && !is_of_cm;
}

QpRules rules_of(const RcQp& qp, const ibv_qp_attr& attr, int mask) {
  if (!qp.is_rnic()) return qp.is_uc() ? QpRules::kUc : QpRules::kRc;
  const bool to_rtr = (mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_RTR;
  return qp.is_by_hand() || (to_rtr && names_peer(qp, attr, mask)) ? QpRules::kRnicByHand
                                                                   : QpRules::kRnic;
}

/// Returns the state that precedes `state` in the sequence RESET, INIT, RTR, RTS.
ibv_qp_state before(ibv_qp_state state) {
  static_assert(IBV_QPS_RESET == 0 && IBV_QPS_INIT == 1 && IBV_QPS_RTR == 2 && IBV_QPS_RTS == 3);
  const bool has_one = state > IBV_QPS_RESET && state <= IBV_QPS_RTS;
  return has_one ? static_cast<ibv_qp_state>(state - 1) : state;
}

int check_step(RcQp& qp, const ibv_qp_attr& attr, int mask) {
  const std::lock_guard lock(qp.mutex);
  const QpRules rules = rules_of(qp, attr, mask);
  const auto is_in = [&](ibv_qp_state from) {
    return (mask & IBV_QP_CUR_STATE) == 0 || attr.cur_qp_state == reported(qp, from);
  };
  // If the CM has already connected the queue pair, and so moved it to RTS, the program may still
  // call ibv_modify_qp() for the steps to INIT, RTR and RTS.
  const bool by_cm = qp.link == LinkState::kByCm && (mask & IBV_QP_STATE) != 0;
  const ibv_qp_state step_before = before(attr.qp_state);
  if (by_cm && is_in(step_before) && is_step(step_before, attr.qp_state, rules, mask)) return 0;
  const ibv_qp_state from = state_of(qp);
  if (!is_in(from)) return refuse_state(attr, reported(qp, from));
  // [IBV-451]
  return check_step(from, (mask & IBV_QP_STATE) != 0 ? attr.qp_state : from, rules, mask);
}

template <typename T>
void take_over(int mask, int bit, T& to, const T& from) {
  if ((mask & bit) != 0) to = from;
}

// [IBV-484]
void remember(RcQp& qp, const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_RESET) return;
  const std::lock_guard lock(qp.mutex);
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) qp.inbound = remote_access(attr.qp_access_flags);
  ibv_qp_attr& known = qp.attributes;
  take_over(mask, IBV_QP_ACCESS_FLAGS, known.qp_access_flags, attr.qp_access_flags);
  take_over(mask, IBV_QP_QKEY, known.qkey, attr.qkey);
  take_over(mask, IBV_QP_AV, known.ah_attr, attr.ah_attr);
  take_over(mask, IBV_QP_PATH_MTU, known.path_mtu, attr.path_mtu);
  take_over(mask, IBV_QP_TIMEOUT, known.timeout, attr.timeout);
  take_over(mask, IBV_QP_RETRY_CNT, known.retry_cnt, attr.retry_cnt);
  take_over(mask, IBV_QP_RNR_RETRY, known.rnr_retry, attr.rnr_retry);
  take_over(mask, IBV_QP_RQ_PSN, known.rq_psn, attr.rq_psn);
  take_over(mask, IBV_QP_SQ_PSN, known.sq_psn, attr.sq_psn);
  take_over(mask, IBV_QP_MAX_QP_RD_ATOMIC, known.max_rd_atomic, attr.max_rd_atomic);
  take_over(mask, IBV_QP_MAX_DEST_RD_ATOMIC, known.max_dest_rd_atomic, attr.max_dest_rd_atomic);
  take_over(mask, IBV_QP_MIN_RNR_TIMER, known.min_rnr_timer, attr.min_rnr_timer);
  take_over(mask, IBV_QP_DEST_QPN, known.dest_qp_num, attr.dest_qp_num);
  qp.said |= mask;
  set_peer_timeouts(qp);
}

// Removes the limits that the program has set for the peer's access, for outstanding Reads, and for
// the time to wait for the peer. The peer's access then depends only on the rights of each region.
void forget_limits(RcQp& qp) {
  qp.inbound = verbs::QpInit().inbound;
  qp.core->set_inbound(qp.inbound);
  qp.core->set_peer_timeouts({});
  (void)qp.core->set_ord(UINT16_MAX);
}

bool is_connected(RcQp& qp) {
  const std::lock_guard lock(qp.mutex);
  return qp.is_connected();
}

bool is_brought_up(RcQp& qp) {
  const std::lock_guard lock(qp.mutex);
  return qp.is_by_hand();
}

void give_up(RcQp& qp) {
  if (!is_brought_up(qp) && !qp.is_to_itself()) return;
  qp.bring_up.give_up(qp);
  const std::lock_guard lock(qp.mutex);
  qp.link_step(LinkEvent::kOver);
}

// Aborts the connection. When this function returns, no thread sends or receives for the connection
// any more. Requests that are posted later are not sent.
void abort(RcQp& qp) {
  for (verbs::QueuePair* const end : qp.ends()) {
    (void)end->abort();
    (void)verbs::QueuePairPort::depart(*end);
  }
}

// [IBV-453, IBV-462]
int reset(RcQp& qp) {
  const auto until = std::chrono::steady_clock::now() + 1s;
  abort(qp);
  give_up(qp);
  qp.to_itself.reset();
  // Waits until the dispatcher has reported the end of this connection, and then reports its
  // events. Otherwise these reports could later be mistaken for those of the next connection.
  {
    std::unique_lock lock(qp.mutex);
    if (!qp.unlinked.wait_until(lock, until, [&] { return !qp.is_connected(); })) {
      return refused(EBUSY, "to RESET: the connection did not end within a second (try again)");
    }
  }
  qp.bring_up.end_wait(qp.core->num());
  Core& core = qp.context.core;
  core.dispatch_async_events();
  // reset() of the core fails only while the queue pair is connected. It should not fail here,
  // because abort() has ended the connection.
  if (qp.core->reset()) return EBUSY;
  for (const auto& service : core.services()) service->qp_reset(qp.num());
  if (Hooks* const hooks = qp.context.hooks) hooks->reset(qp);
  verbs::resume_sends(*qp.core);
  verbs::release_sends(*qp.core);
  const std::lock_guard lock(qp.mutex);
  qp.attributes = {};
  qp.said = 0;
  qp.cm_rnr_retry.reset();
  qp.left_by.clear();
  forget_limits(qp);
  set_shown_state(qp, IBV_QPS_RESET);
  return 0;
}

// Sets the maximum number of outstanding Reads for the current connection, or for the next one if
// there is no connection. If the peer has agreed to fewer Reads, set_ord() fails, and this function
// ignores that error.
void limit_reads(RcQp& qp, const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) (void)qp.sender().set_ord(attr.max_rd_atomic);
}

// If a failed request has stopped the send queue, starts it again.
void leave_sqe(RcQp& qp) {
  if (!verbs::has_stopped_sends(qp.sender())) return;
  verbs::resume_sends(qp.sender());
  if (Hooks* const hooks = qp.context.hooks) hooks->recovered(qp);
}

int change_state(RcQp& qp, const ibv_qp_attr& attr, int mask) {
  const ibv_qp_state to = attr.qp_state;
  if (to == IBV_QPS_RESET) return reset(qp);
  if (to == IBV_QPS_ERR) {
    qp.abi.qp_base.state = to;
    return qp.to_error();
  }
  const bool awaits = to == IBV_QPS_RTR && names_peer(qp, attr, mask);
  if (awaits && !is_connected(qp) && !is_brought_up(qp)) {
    verbs::report_first_message(*qp.core);
    if (const int code = qp.bring_up.ready_to_receive(qp, attr)) return code;
  }
  limit_reads(qp, attr, mask);
  if (to == IBV_QPS_RTS && qp.state.load() == IBV_QPS_RTR && is_brought_up(qp)) {
    if (const int code = qp.bring_up.ready_to_send(qp, attr.sq_psn)) return code;
  }
  if (to == IBV_QPS_RTS) leave_sqe(qp);
  const ibv_qp_state from = qp.state.load();
  const bool notifies = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && attr.en_sqd_async_notify != 0;
  if (from == IBV_QPS_RTS && to == IBV_QPS_SQD) verbs::hold_sends(qp.sender(), notifies);
  if (from == IBV_QPS_SQD && to == IBV_QPS_RTS) verbs::release_sends(qp.sender());
  const std::lock_guard lock(qp.mutex);
  if (may_change(from, to)) set_shown_state(qp, to);
  if (to == IBV_QPS_RTS && qp.link == LinkState::kAwaited) {
    qp.bring_up.limit_wait(qp.num(), peer_timeouts(attr, mask).answer);
  }
  return 0;
}

}  // namespace

bool is_in_error(const verbs::QpAttributes& core) {
  const auto& sent = core.terminate_sent;
  const bool blames = sent && sent->fault != mpa::kTcpLost && !is_receiver_not_ready(*sent);
  return blames || core.terminate_received || core.local_error;
}

// [IBV-454]
int RcQp::to_error() {
  {
    const std::lock_guard lock(mutex);
    set_state(*this, IBV_QPS_ERR);
  }
  // Pushes all completions to the completion queues, even those that are held back until the
  // program can read an event of the connection. A program that moves its queue pair to ERR may
  // never read that event.
  verbs::QueuePairPort::announce(*core, verbs::Announce::kAll);
  bring_up.end_wait(core->num());
  abort(*this);
  if (!rdma_core::is_connected(*this)) give_up(*this);
  // Calls report_last_wqe() unless the queue pair is still connected. If it is, qp_disconnected()
  // or qp_announce() calls report_last_wqe() when the connection has ended.
  if (!rdma_core::is_connected(*this)) report_last_wqe(*this);
  return 0;
}

// [IBV-427, IBV-448, IBV-449]
int RcQp::modify(const ibv_qp_attr& attr, int mask) {
  if (const int code = check(*this, attr, mask)) return code;
  if (const int code = check_step(*this, attr, mask)) return code;
  // Sets the peer's access rights before the state, because the peer may connect as soon as the
  // state is RTR.
  const bool access = (mask & IBV_QP_ACCESS_FLAGS) != 0;
  if (access) core->set_inbound(remote_access(attr.qp_access_flags));
  if ((mask & IBV_QP_STATE) == 0) {
    limit_reads(*this, attr, mask);
  } else if (const int code = change_state(*this, attr, mask)) {
    if (access) core->set_inbound(inbound);
    return code;
  }
  remember(*this, attr, mask);
  return 0;
}

// [IBV-486]
ibv_qp_state RcQp::describe(ibv_qp_attr& attr) const {
  const ibv_qp_state known = state_of(*this);
  attr.qp_state = reported(*this, known);
  const auto now = core->query();
  const auto reads = [](std::uint16_t n) {
    return static_cast<std::uint8_t>(std::min<std::uint16_t>(n, kMaxReads));
  };
  attr.sq_draining = known == IBV_QPS_SQD && sender().query().send_outstanding != 0 ? 1 : 0;
  const bool is_rts = now.state == verbs::QpState::kRts;
  if (is_rts && (said & IBV_QP_MAX_QP_RD_ATOMIC) == 0) {
    attr.max_rd_atomic = reads(sender().query().ord);
  }
  // After rdma_cm, `attributes` has the number on which the programs agreed. The core's IRD may be
  // rounded, and includes the Reads that ask for acknowledgements.
  if (is_rts && link != LinkState::kByCm && (said & IBV_QP_MAX_DEST_RD_ATOMIC) == 0) {
    attr.max_dest_rd_atomic = reads(now.ird);
  }
  return known;
}

bool close_connection(RcQp& qp, bool flush) {
  const bool is_rnic = qp.is_rnic();
  {
    const std::lock_guard lock(qp.mutex);
    if (qp.state.load() == IBV_QPS_RTS || !is_rnic) {
      set_state(qp, is_rnic ? IBV_QPS_SQD : IBV_QPS_ERR);
    }
  }
  if (!is_rnic) verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAll);
  if (flush) {
    abort(qp);
  } else if (is_rnic) {
    // disconnect() fails only if the connection is already closing. In that case, the event that
    // reports its end is queued already, or will be queued.
    (void)qp.core->disconnect();
  } else {
    return verbs::QueuePairPort::depart(*qp.core);
  }
  return true;
}

void set_peer_timeouts(RcQp& qp) {
  auto agreed = peer_timeouts(qp.attributes, qp.said);
  if (qp.cm_rnr_retry) agreed.receive_hold.reset();
  if (qp.cm_rnr_retry >= kRnrForEver) agreed.receive_hold = verbs::PeerTimeouts::kForEver;
  if (Hooks* const hooks = qp.context.hooks) hooks->holding(qp.cm_rnr_retry, agreed);
  if (qp.is_uc()) agreed.receive_hold = kUcReceiveHold;
  qp.core->set_peer_timeouts(agreed);
  qp.sender().set_peer_timeouts(agreed);
}

void qp_connected(RcQp& qp) {
  {
    const std::lock_guard lock(qp.mutex);
    qp.link_step(LinkEvent::kEstablished);
    qp.end_reported = false;
    if (qp.state.load() != IBV_QPS_ERR) {
      // If the CM did not make the connection, only the program moves the queue pair to RTS.
      if (qp.link == LinkState::kByCm) set_state(qp, IBV_QPS_RTS);
      return;
    }
  }
  abort(qp);  // The program moved the queue pair to ERR while the connection was being set up.
}

void show_connected(RcQp& qp) {
  const std::lock_guard lock(qp.mutex);
  const auto state = qp.state.load();
  ibv_qp_state& shown = qp.abi.qp_base.state;
  // By the time the program reads the event, the connection may already be over (ERR), or the
  // program may have moved the queue pair to ERR or RESET itself. After a move to RESET, the
  // program must not see RTS.
  const bool was_connected = state == IBV_QPS_RTS || state == IBV_QPS_ERR;
  if (was_connected && shown != IBV_QPS_ERR) shown = IBV_QPS_RTS;
}

// Does not change ibv_qp::state. As with hardware adapters, only calls of the program change that
// field. UCX depends on this: it posts only while ibv_qp::state is RTS.
void qp_disconnected(RcQp& qp) {
  {
    const std::lock_guard lock(qp.mutex);
    qp.state.store(IBV_QPS_ERR);
  }
  qp_peer_departed(qp);
  report_last_wqe(qp);
}

bool leaves(const RcQp& qp, const net::CmEvent& event) {
  return event.end && verbs::is_orderly(*event.end) && qp.state.load() == IBV_QPS_RTS;
}

void note_left(RcQp& qp, std::string peer) {
  const std::lock_guard lock(qp.mutex);
  qp.left_by = std::move(peer);
}

void log_left(RcQp& qp) {
  log_event({.level = verbs::LogLevel::kWarning,
             .event = "peer_left",
             .message = fmt::format(
                 "queue pair {:#08x}: a request was posted after the peer {} had closed the "
                 "connection or exited (look for the cause at the peer; a peer should announce "
                 "that it will close, for example with a Send)",
                 qp.num(), qp.left_by),
             .fields = {{"peer", qp.left_by}, {"qp", qp.num()}}});
  qp.left_by.clear();
}

void qp_peer_departed(RcQp& qp) {
  abort(qp);
  const std::lock_guard lock(qp.mutex);
  qp.link_step(LinkEvent::kOver);  // wakes up a reset() that waits for the end of the connection
}

// [IBV-322]
void qp_retry_exceeded(RcQp& qp) {
  qp_disconnected(qp);
  verbs::QueuePairPort::announce_unanswered(*qp.core);
}

// All completions are pushed to the completion queues even if to_error() runs at the same time.
// to_error() first stores ERR and then pushes all completions. So if this function reads a state
// other than ERR, to_error() has not pushed the completions yet, and will push them.
void qp_announce(RcQp& qp, verbs::Announce which) {
  verbs::QueuePairPort::announce(*qp.core, which);
  if (qp.state.load() != IBV_QPS_ERR) return;
  verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAll);
  if (is_connected(qp)) return;
  qp.bring_up.end_wait(qp.core->num());
  report_last_wqe(qp);
}

extern "C" {

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  const CallSite here(__builtin_return_address(0), "ibv_modify_qp");
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    Hooks* const hooks = self.context.hooks;
    const bool is_removed = hooks != nullptr && hooks->is_removed(self.context.device);
    if (is_removed) CallSite::explain();  // An injected removal is not a mistake of the program.
    if (!self.context.alive() || is_removed) return EIO;
    if (hooks != nullptr) hooks->changing_state();
    const bool drains = (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_SQD;
    if (drains && (self.context.persona == Persona::kIwarp || qp->qp_type == IBV_QPT_UD)) {
      return refused("IBV_QPS_SQD",
                     "the send queue can be drained only with --as roce, on RC and UC queue pairs "
                     "(poll completions instead)");
    }
    // A PSN has 24 bits. As the kernel does, ignores the upper bits, which some programs set.
    ibv_qp_attr checked = *attr;
    checked.rq_psn &= kMostPsn;
    checked.sq_psn &= kMostPsn;
    return self.modify(checked, mask);
  });
}

// [IBV-485, IBV-487, IBV-488, IBV-490, IBV-493]
int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init_attr) {
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    if (!self.context.alive()) return EIO;
    const std::lock_guard lock(self.mutex);
    *attr = self.attributes;
    const ibv_qp_state state = self.describe(*attr);
    attr->cur_qp_state = attr->qp_state;
    if ((mask & IBV_QP_STATE) != 0) qp->state = state;
    attr->cap = self.cap;
    attr->port_num = kPortNumber;
    if (attr->path_mtu == 0) attr->path_mtu = IBV_MTU_1024;
    *init_attr = {.qp_context = qp->qp_context,
                  .send_cq = qp->send_cq,
                  .recv_cq = qp->recv_cq,
                  .srq = qp->srq,
                  .cap = self.cap,
                  .qp_type = qp->qp_type,
                  .sq_sig_all = self.signal_all ? 1 : 0};
    return 0;
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
