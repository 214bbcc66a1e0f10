// SPDX-License-Identifier: Apache-2.0
// The states of a queue pair as programs written for InfiniBand take it through them. On the wire
// there is only connected or not: INIT, RTR and RTS are remembered, and a connection is made by the
// CM, or by the bring-up without it when RTR names a peer.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "errno_table.hpp"
#include "limits.hpp"
#include "memory_access.hpp"
#include "oob.hpp"
#include "queue_pair.hpp"
#include "refusal.hpp"

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;

constexpr int kPort = 1;

void set_state(Qp& qp, ibv_qp_state state) {
  qp.state.store(state);
  qp.abi.qp_base.state = state;
  if (state != IBV_QPS_ERR) qp.last_wqe_told = false;
}

bool may_change(ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return true;
  switch (from) {
    case IBV_QPS_RESET:
      return to == IBV_QPS_INIT;
    case IBV_QPS_INIT:
      return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
    case IBV_QPS_RTR:
      return to == IBV_QPS_RTR || to == IBV_QPS_RTS;
    case IBV_QPS_RTS:
    case IBV_QPS_SQD:
      return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
    default:
      return false;
  }
}

int check(const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_PORT) != 0 && attr.port_num != kPort) return EINVAL;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr.pkey_index != 0) return EINVAL;
  if ((mask & IBV_QP_CAP) != 0) {
    return refused("changing the size of a queue pair", "create it as large as it will have to be");
  }
  if ((mask & IBV_QP_RATE_LIMIT) != 0) {
    return refused("IBV_QP_RATE_LIMIT", "the pace is that of TCP");
  }
  const bool reads = (mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attr.max_rd_atomic > kMaxReads;
  const bool dest = (mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attr.max_dest_rd_atomic > kMaxReads;
  return reads || dest ? EINVAL : 0;
}

template <typename T>
void take_over(int mask, int bit, T& to, const T& from) {
  if ((mask & bit) != 0) to = from;
}

void remember(ibv_qp_attr& known, const ibv_qp_attr& attr, int mask) {
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
}

// Until the program says otherwise it is up to each region what the peer may do with it.
void forget_limits(Qp& qp) {
  qp.core->set_inbound(verbs::QpInit().inbound);
  (void)qp.core->set_ord(UINT16_MAX);
}

bool is_connected(Qp& qp) {
  const std::lock_guard lock(qp.mutex);
  return qp.connected;
}

// The connection's end is told by the dispatcher and must not be taken for that of the next one.
// Octets may have moved before the dispatcher has heard that it is up.
bool end_will_be_told(Qp& qp, bool was_up) {
  const std::lock_guard lock(qp.mutex);
  return qp.connected || (was_up && qp.brought_up);
}

int reset(Qp& qp) {
  const auto until = std::chrono::steady_clock::now() + 1s;
  const bool was_up = qp.core->query().state != verbs::QpState::kIdle;
  (void)qp.core->abort();
  while (end_will_be_told(qp, was_up) || qp.core->reset()) {
    if (std::chrono::steady_clock::now() > until) return EBUSY;
    std::this_thread::sleep_for(100us);
  }
  const std::lock_guard lock(qp.mutex);
  qp.attributes = {};
  forget_limits(qp);
  set_state(qp, IBV_QPS_RESET);
  return 0;
}

int to_error(Qp& qp) {
  {
    const std::lock_guard lock(qp.mutex);
    set_state(qp, IBV_QPS_ERR);
  }
  (void)qp.core->abort();
  // A connected one tells when the end of the connection is told.
  if (!is_connected(qp)) tell_last_wqe(qp);
  return 0;
}

// For the present connection, or for the next one. More than was agreed on with the peer cannot be.
void limit_reads(Qp& qp, const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) (void)qp.core->set_ord(attr.max_rd_atomic);
}

int change_state(Qp& qp, const ibv_qp_attr& attr, int mask) {
  const ibv_qp_state to = attr.qp_state;
  if (to == IBV_QPS_RESET) return reset(qp);
  if (to == IBV_QPS_ERR) return to_error(qp);
  constexpr int kNamesPeer = IBV_QP_AV | IBV_QP_DEST_QPN;
  if (to == IBV_QPS_RTR && (mask & kNamesPeer) == kNamesPeer && !is_connected(qp)) {
    if (const int code = qp.context.core.out_of_band().ready(qp, attr)) return code;
  }
  limit_reads(qp, attr, mask);
  const std::lock_guard lock(qp.mutex);
  // Whoever connects it may have been quicker: then INIT and RTR lie behind.
  if (may_change(qp.state.load(), to)) set_state(qp, to);
  return 0;
}

}  // namespace

void qp_connected(Qp& qp) {
  {
    const std::lock_guard lock(qp.mutex);
    qp.connected = true;
    if (qp.state.load() != IBV_QPS_ERR) {
      set_state(qp, IBV_QPS_RTS);
      return;
    }
  }
  (void)qp.core->abort();  // The program has given it up meanwhile.
}

void qp_disconnected(Qp& qp) {
  {
    const std::lock_guard lock(qp.mutex);
    set_state(qp, IBV_QPS_ERR);
  }
  (void)qp.core->abort();
  tell_last_wqe(qp);
  const std::lock_guard lock(qp.mutex);
  qp.connected = qp.brought_up = false;  // Now a reset may go on.
}

}  // namespace iwarp::rdma_core

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the C interface's half

extern "C" {

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  Qp& self = Qp::of(qp);
  if (!self.context.core.alive()) return EIO;
  return guarded([&] {
    if (const int code = check(*attr, mask)) return code;
    bool connected = false;
    {
      const std::lock_guard lock(self.mutex);
      connected = self.connected;
      const bool behind = attr->qp_state == IBV_QPS_INIT || attr->qp_state == IBV_QPS_RTR;
      if ((mask & IBV_QP_STATE) != 0 && !may_change(self.state.load(), attr->qp_state) &&
          !(connected && behind)) {
        return EINVAL;
      }
      remember(self.attributes, *attr, mask);
      if ((mask & IBV_QP_ACCESS_FLAGS) != 0) {
        self.core->set_inbound(remote_access(attr->qp_access_flags));
      }
    }
    if ((mask & IBV_QP_STATE) != 0) return change_state(self, *attr, mask);
    limit_reads(self, *attr, mask);
    return 0;
  });
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr) {
  Qp& self = Qp::of(qp);
  if (!self.context.core.alive()) return EIO;
  return guarded([&] {
    const auto core = self.core->query();
    const std::lock_guard lock(self.mutex);
    *attr = self.attributes;
    attr->qp_state = attr->cur_qp_state = self.state.load();
    attr->cap = self.cap;
    attr->port_num = kPort;
    if (attr->path_mtu == 0) attr->path_mtu = IBV_MTU_1024;
    if (core.state == iwarp::verbs::QpState::kRts) {
      attr->max_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint16_t>(core.ord, UINT8_MAX));
      attr->max_dest_rd_atomic =
          static_cast<std::uint8_t>(std::min<std::uint16_t>(core.ird, UINT8_MAX));
    }
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
