// SPDX-License-Identifier: Apache-2.0
// Creates and destroys queue pairs of types RC and UC, which have a connection. The states of these
// queue pairs are in qp/states.cpp.
#include "qp/rc.hpp"

#include "iwarp/verbs/send_stop.hpp"
#include "qp/bring_up.hpp"

namespace iwarp::rdma_core {
namespace {

/// Owns the number of a new queue pair until the core has created that queue pair. The destructor
/// releases the number unless keep() was called.
class Number {
 public:
  explicit Number(BringUp& from) : from_(&from), value_(from.take_number()) {}
  ~Number() {
    if (from_ != nullptr) from_->release_number(value_);
  }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  std::uint32_t value() const { return value_; }
  void keep() { from_ = nullptr; }

 private:
  BringUp* from_;
  std::uint32_t value_;
};

}  // namespace

RcQp::RcQp(Context& its_context) : Qp(its_context), bring_up(its_context.core.service<BringUp>()) {}

verbs::QpNum RcQp::make_core() {
  Number number(bring_up);
  const verbs::QpInit init{.num = number.value(),
                           .send_cq = send_cq->core.get(),
                           .recv_cq = recv_cq->core.get(),
                           .srq = srq != nullptr ? srq->core.get() : nullptr,
                           .limits = {.max_send_wr = cap.max_send_wr,
                                      .max_recv_wr = cap.max_recv_wr,
                                      .max_send_sge = cap.max_send_sge,
                                      .max_recv_sge = cap.max_recv_sge,
                                      .max_inline = cap.max_inline_data},
                           .signal_all = signal_all,
                           .drop_failed = true};
  auto made = context.rnic.create_qp(*pd->core, init);
  if (!made) throw std::system_error(made.error());
  number.keep();
  core = std::move(*made);
  return core->num();
}

void RcQp::enter() {
  if (is_uc()) verbs::stop_sends_on_error(*core);
  context.core.add(num(), *this);
}

void RcQp::end() {
  const auto number = num();
  Core& device = context.core;
  device.unlogged_ends().await(number);
  device.remove_connection(number);
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
