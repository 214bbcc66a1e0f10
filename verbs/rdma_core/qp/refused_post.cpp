// SPDX-License-Identifier: Apache-2.0
// Logs why a post was refused, by examining the request a second time.

#include <boost/container/static_vector.hpp>
#include <cerrno>

#include "device/limits.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/queue_pair.hpp"
#include "qp/send_request.hpp"
#include "qp/steps.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core {
namespace {

int refuse_datagram(const Qp& qp, const ibv_send_wr& wr, std::uint64_t length) {
  if (wr.opcode != IBV_WR_SEND && wr.opcode != IBV_WR_SEND_WITH_IMM) {
    return refused(EINVAL, "opcode {}: a queue pair of type UD supports only Sends",
                   static_cast<int>(wr.opcode));
  }
  if (wr.wr.ud.ah == nullptr) {
    return refused(EINVAL, "wr.ud.ah is null (create it with ibv_create_ah())");
  }
  const auto most = max_datagram(qp.context.device);
  if (length <= most) return 0;
  return refused(EINVAL, "a datagram of {} bytes: must be at most {}, the active_mtu of the port",
                 length, most);
}

int refuse_request(const Qp& qp, const ibv_send_wr& wr, std::span<verbs::Sge> sges, int code) {
  if (code == ENOMEM) {
    return refused(code,
                   "the send queue is full: cap.max_send_wr is {} (poll completions to make room; "
                   "polling the completion of a signaled request also frees the slots of the "
                   "unsignaled requests before it)",
                   qp.cap.max_send_wr);
  }
  if (code != EINVAL) return code;
  const ibv_qp_state state = qp.state_now();
  if (qp.context.persona == Persona::kRoce && state < IBV_QPS_RTS) {
    return refused(code, "the queue pair is in {} (post requests when it is in RTS)",
                   name_of(state));
  }
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > qp.cap.max_send_sge) {
    return refused(code, "num_sge {}: must be at most {}, the cap.max_send_sge of the queue pair",
                   wr.num_sge, qp.cap.max_send_sge);
  }
  std::uint64_t length = 0;
  for (const verbs::Sge& sge : sges) length += sge.length;
  const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (is_inline && length > qp.cap.max_inline_data) {
    return refused(code,
                   "IBV_SEND_INLINE with {} bytes: must be at most {}, the cap.max_inline_data of "
                   "the queue pair",
                   length, qp.cap.max_inline_data);
  }
  if (qp.abi.qp_base.qp_type == IBV_QPT_UD) return refuse_datagram(qp, wr, length);
  verbs::SendWr request;
  begin_request(request, wr, sges);
  // Logs the reason if the conversion fails again. If it succeeds, the core has refused the
  // request.
  if (const int again = make_request(qp, request, wr, sges)) return again;
  if (!is_inline) return code;
  return refused(code, "opcode {} with IBV_SEND_INLINE: only Sends and Writes can be inline",
                 static_cast<int>(wr.opcode));
}

/// Returns the number of elements of sg_list that can be read: 0 if num_sge is not permitted,
/// because the list may then be shorter.
std::size_t count_of(const Qp& qp, int num_sge) {
  const bool is_permitted =
      num_sge >= 0 && static_cast<std::uint32_t>(num_sge) <= qp.cap.max_send_sge;
  return is_permitted ? static_cast<std::size_t>(num_sge) : 0;
}

void refuse_receive(const ibv_recv_wr* wr, std::size_t most_sges, int code) {
  if (code == ENOMEM) return;  // Open MPI posts receives until the queue is full.
  if (wr != nullptr && (wr->num_sge < 0 || static_cast<std::size_t>(wr->num_sge) > most_sges)) {
    (void)refused(code,
                  "num_sge {}: must be at most {}, the max_recv_sge of the queue pair or the "
                  "max_sge of the shared receive queue",
                  wr->num_sge, most_sges);
  }
  explain_failure(code);
}

}  // namespace

void explain_request(const Qp& qp, const ibv_send_wr& wr, std::span<verbs::Sge> sges, int code) {
  (void)guarded([&] { return refuse_request(qp, wr, sges, code); });
}

void explain_send(const Qp& qp, const ibv_send_wr* wr, int code, const void* place) {
  const CallSite here(place, "ibv_post_send");
  if (wr == nullptr) return explain_failure(code);
  boost::container::static_vector<verbs::Sge, bytes::kMaxSge> sges;
  for (std::size_t i = 0; i < count_of(qp, wr->num_sge); ++i)
    sges.push_back(to_sge(wr->sg_list[i]));
  explain_request(qp, *wr, sges, code);
  explain_failure(code);
}

void explain_receive(const Qp& qp, const ibv_recv_wr* wr, int code, const void* place) {
  const CallSite here(place, "ibv_post_recv");
  if (code == EINVAL && qp.context.persona == Persona::kRoce && qp.state_now() == IBV_QPS_RESET) {
    (void)refused(code, "the queue pair is in RESET (post receives when it is in INIT or later)");
  } else if (code == EINVAL && qp.srq != nullptr) {
    (void)refused(code, "the queue pair has a shared receive queue (use ibv_post_srq_recv())");
  }
  refuse_receive(wr, qp.cap.max_recv_sge, code);
}

void explain_receive(const Srq& srq, const ibv_recv_wr* wr, int code, const void* place) {
  const CallSite here(place, "ibv_post_srq_recv");
  refuse_receive(wr, srq.core->limits().max_sge, code);
}

}  // namespace iwarp::rdma_core
