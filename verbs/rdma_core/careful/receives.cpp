// SPDX-License-Identifier: Apache-2.0
// The functions of class Checker for receives. They report a receive that the program posts after
// the message that needs it has arrived. This library lets such a message wait
// (ConnectionOptions::receive_hold). An iWARP adapter would end the connection. With a RoCE adapter
// the sender repeats the message, but only as often as rnr_retry allows.
#include <fmt/format.h>

#include <chrono>

#include "careful/checker.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "process/core.hpp"
#include "qp/peer_timeouts.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core::careful {
namespace {

using std::chrono::nanoseconds;

/// How long a message could wait for a receive if the adapter that the program sees were hardware.
struct Patience {
  /// The end and name of the attribute that contains the sender's retry count; null if the sender
  /// does not retry.
  const char* retries = nullptr;
  nanoseconds limit{0};  ///< the time after which the sender gives up
};

// An iWARP adapter can connect queue pairs only through rdma_cm. So if a queue pair is connected
// without rdma_cm, the program is meant for RoCE, even if it sees an iWARP adapter.
Patience patience_of(RcQp& qp) {
  constexpr int kBoth = IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER;
  const std::lock_guard lock(qp.mutex);
  if (qp.cm_rnr_retry && qp.context.persona == Persona::kIwarp) return {};
  ibv_qp_attr attr = qp.attributes;
  if (qp.cm_rnr_retry) attr.rnr_retry = *qp.cm_rnr_retry;
  const int said = qp.cm_rnr_retry ? kBoth : qp.said;
  return {.retries = qp.cm_rnr_retry ? "this end's rnr_retry_count" : "the peer's rnr_retry",
          .limit = peer_timeouts(attr, said).receive_hold.value_or(nanoseconds(0))};
}

/// Returns the peer's address, for example "127.0.0.1:7471", or "the peer" if the connection is
/// already over.
std::string peer_of(Core& core, std::uint32_t num) {
  const auto now = core.rnic().statistics(SIZE_MAX);
  const auto it = std::ranges::find(now.connections, num, &net::ConnectionStatistics::qp);
  return it != now.connections.end() ? net::to_string(it->peer) : "the peer";
}

std::string verdict_of(const Patience& patience) {
  if (patience.retries == nullptr)
    return "an iWARP adapter would have ended the connection at once";
  return fmt::format(
      "with a RoCE adapter, the peer's request would have failed by now with RNR_RETRY_EXC_ERR, "
      "unless {} is 7, which means no limit",
      patience.retries);
}

}  // namespace

void Checker::report_late(std::uint32_t num, const ibv_recv_wr& wr) {
  std::optional<mpa::TimePoint> since;
  Patience patience;
  core_.with_qp(num, [&](RcQp& qp) {
    since = verbs::QueuePairPort::receive_awaited_since(*qp.core);
    if (since) patience = patience_of(qp);
  });
  if (!since) return;
  const auto waited = mpa::Clock::now() - *since;
  if (waited <= patience.limit) return;
  report({.check = check::kReceiveTooLate,
          .site = call_site(),
          .what = fmt::format("a message from {} has waited for {} ms for the receive with wr_id "
                              "{:#x} of queue pair {}: {} (post receives before the peer may send: "
                              "before rdma_connect(), rdma_accept(), or ibv_modify_qp() to RTR)",
                              peer_of(core_, num),
                              std::chrono::duration_cast<std::chrono::milliseconds>(waited).count(),
                              wr.wr_id, num, verdict_of(patience))});
}

void Checker::receives(const void* queue, std::uint32_t qp, const ibv_recv_wr* wr) {
  std::size_t recorded = 0;
  try {
    for (; wr != nullptr; wr = wr->next, ++recorded) {
      ledger_.receives(queue, qp, wr->wr_id, pieces_of(wr->sg_list, wr->num_sge), call_site());
    }
  } catch (...) {
    ledger_.not_received(queue, qp, recorded);
    throw;
  }
}

int Checker::post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const auto num = handle->qp_num;
  const auto lock = enter();
  const Qp& qp = Qp::of(handle);
  if (qp.context.persona == Persona::kRoce && qp.state.load() == IBV_QPS_RESET) {
    report({.check = check::kPostedTooEarly,
            .site = call_site(),
            .what = fmt::format("a receive is posted to queue pair {} in RESET: an adapter refuses "
                                "it with EINVAL (post it in INIT or later)",
                                num)});
  }
  if (wr != nullptr) report_late(num, *wr);
  const void* const queue = Ledger::queue_of(num);
  receives(queue, num, wr);
  const int code = behind().post_recv(handle, wr, bad_wr);
  if (code != 0) ledger_.not_received(queue, num, length_of(*bad_wr));
  return code;
}

int Checker::post_srq_recv(ibv_srq* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Srq& srq = Srq::of(handle);
  const auto lock = enter();
  if (wr != nullptr && srq.core->size() == 0) {
    for (const auto num : ledger_.queue_pairs_of(&srq)) report_late(num, *wr);
  }
  receives(&srq, 0, wr);
  const int code = behind().post_srq_recv(handle, wr, bad_wr);
  if (code != 0) ledger_.not_received(&srq, 0, length_of(*bad_wr));
  return code;
}

}  // namespace iwarp::rdma_core::careful
