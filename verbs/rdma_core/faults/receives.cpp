// SPDX-License-Identifier: Apache-2.0
// HeldReceives: withdraws receives from a receive queue, whether shared or not, and posts them
// again when the time is over.
#include "faults/receives.hpp"

#include <algorithm>
#include <cerrno>

#include "device/limits.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "qp/rc.hpp"
#include "qp/send_request.hpp"

namespace iwarp::rdma_core::fault {

HeldReceives::Held* HeldReceives::find(const void* queue) {
  const auto it = std::ranges::find(held_, queue, &Held::queue);
  return it != held_.end() ? &*it : nullptr;
}

void HeldReceives::hold(RcQp& qp, Time until) {
  Srq* const srq = qp.srq;
  const void* const queue = srq != nullptr ? static_cast<const void*>(srq) : static_cast<Qp*>(&qp);
  const std::lock_guard lock(mutex_);
  if (Held* const held = find(queue)) {
    held->until = std::max(held->until, until);
    return;
  }
  held_.reserve(held_.size() + 1);  // without memory, leaves the receives in the queue
  auto receives = srq != nullptr ? verbs::SharedReceiveQueuePort::withdraw(*srq->core)
                                 : verbs::QueuePairPort::withdraw_receives(*qp.core);
  held_.push_back({queue, srq != nullptr ? nullptr : &qp, srq, until, std::move(receives)});
}

std::optional<int> HeldReceives::keep(const void* queue, const ibv_recv_wr& wr) {
  const std::lock_guard lock(mutex_);
  Held* const held = find(queue);
  if (held == nullptr) return std::nullopt;
  if (wr.num_sge < 0 || wr.num_sge > kMaxSge) return EINVAL;
  if (held->receives.size() >= kMaxWr) return ENOMEM;
  verbs::PostedReceive& out = held->receives.emplace_back();
  out.wr_id = wr.wr_id;
  for (int i = 0; i < wr.num_sge; ++i) out.sgl.push_back(to_sge(wr.sg_list[i]));
  return 0;
}

void HeldReceives::forget(const void* queue) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const Held& held) { return held.queue == queue; });
}

void HeldReceives::post_again(const Held& held) {
  for (const auto& receive : held.receives) {
    const verbs::RecvWr wr{.wr_id = receive.wr_id,
                           .sgl = std::span(receive.sgl.begin(), receive.sgl.end())};
    (void)(held.srq != nullptr ? held.srq->core->post_recv(wr) : held.qp->core->post_recv(wr));
  }
}

std::optional<HeldReceives::Time> HeldReceives::release(Time now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const Held& held) {
    const bool is_over = held.until <= now;
    if (is_over) post_again(held);
    return is_over;
  });
  const auto next = std::ranges::min_element(held_, {}, &Held::until);
  return next != held_.end() ? std::optional(next->until) : std::nullopt;
}

}  // namespace iwarp::rdma_core::fault
