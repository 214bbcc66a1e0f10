// SPDX-License-Identifier: Apache-2.0
// Creates and destroys queue pairs of types RC and UC, which have a connection. The states of these
// queue pairs are in qp/states.cpp.
#include "qp/rc.hpp"

#include "iwarp/verbs/queue_pair_port.hpp"
#include "qp/bring_up.hpp"

namespace iwarp::rdma_core {

RcQp::RcQp(Context& its_context) : Qp(its_context), bring_up(its_context.core.service<BringUp>()) {}

verbs::QpNum RcQp::make_core() {
  const std::uint32_t number = bring_up.take_number();
  const auto release = [number](BringUp* from) { from->release_number(number); };
  std::unique_ptr<BringUp, decltype(release)> unused(&bring_up, release);
  const verbs::QpInit init{.num = number,
                           .send_cq = send_cq->core.get(),
                           .recv_cq = recv_cq->core.get(),
                           .srq = srq != nullptr ? srq->core.get() : nullptr,
                           .limits = limits(),
                           .signal_all = signal_all,
                           .drop_failed = true,
                           .device = ibv_get_device_name(context.device.handle())};
  auto made = context.rnic.create_qp(*pd->core, init);
  if (!made) throw std::system_error(made.error());
  (void)unused.release();
  core = std::move(*made);
  return core->num();
}

void RcQp::enter() {
  if (is_uc()) verbs::make_unreliable(*core);
  context.core.add(num(), *this);
}

// [IBV-497, IBV-498]
void RcQp::end() {
  const auto number = num();
  Core& device = context.core;
  device.unlogged_ends().await(number);
  device.remove<RcQp>(number);
  if (Hooks* const hooks = device.hooks()) hooks->silenced(*this);
  for (const auto& service : device.services()) service->qp_destroyed(number);
  settle_events(*this);
  to_itself.reset();
  core.reset();
  device.await_dispatcher();
  bring_up.release_number(number);
}

void RcQp::abandon() noexcept {
  (void)to_itself.release();
  (void)core.release();
}

}  // namespace iwarp::rdma_core
