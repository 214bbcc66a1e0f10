// SPDX-License-Identifier: Apache-2.0
// Making and ending queue pairs. iWARP has one kind, the reliable connection; as RoCE there is UC,
// which is the same without what UC does not have, and UD. What else programs may ask for is
// refused by name.
#include "qp/queue_pair.hpp"

#include <algorithm>

#include "device/limits.hpp"
#include "device/persona.hpp"
#include "objects/calls.hpp"
#include "process/acks.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"
#include "process/settings.hpp"
#include "qp/bring_up.hpp"
#include "qp/calls.hpp"
#include "qp/datagrams.hpp"

namespace iwarp::rdma_core {
namespace {

void check_type(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return;
    case IBV_QPT_UD:
      if (const char* const why = why_no_datagrams()) fail(refused("a queue pair of type UD", why));
      return;
    case IBV_QPT_UC:
      if (settings().persona == Persona::kRoce) return;
      fail(refused("a queue pair of type UC", "all connections of iWARP are reliable"));
    case IBV_QPT_RAW_PACKET:
      fail(refused("a queue pair of type RAW_PACKET",
                   "there is no network card to give packets to"));
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      fail(refused("a queue pair of type XRC", "iWARP has no shared connections"));
    default:
      fail(refused("a queue pair of a vendor's type", "the type is unknown"));
  }
}

bool within_limits(const ibv_qp_cap& cap) {
  return cap.max_send_wr <= kMaxWr && cap.max_recv_wr <= kMaxWr && cap.max_send_sge <= kMaxSge &&
         cap.max_recv_sge <= kMaxSge && cap.max_inline_data <= kMaxInline;
}

// Every device has some, and programs that did not ask for it (rdma_xclient) use it.
constexpr std::uint32_t kMinInline = 64;

// At least what was asked for; the core has no empty queues.
ibv_qp_cap granted(const ibv_qp_cap& asked, bool shared_receives) {
  const auto one = [](std::uint32_t n) { return std::max(n, std::uint32_t{1}); };
  ibv_qp_cap out{.max_send_wr = one(asked.max_send_wr),
                 .max_recv_wr = one(asked.max_recv_wr),
                 .max_send_sge = one(asked.max_send_sge),
                 .max_recv_sge = one(asked.max_recv_sge),
                 .max_inline_data = std::max(asked.max_inline_data, kMinInline)};
  if (shared_receives) out.max_recv_wr = out.max_recv_sge = 0;
  return out;
}

/// A number for a queue pair, given back unless it is kept.
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

net::QpHandle make_core(Pd& pd, const Qp& qp) {
  const ibv_qp_cap& cap = qp.cap;
  Number number(pd.context.core.service<BringUp>());
  verbs::QpInit init{.num = number.value(),
                     .send_cq = qp.send_cq->core.get(),
                     .recv_cq = qp.recv_cq->core.get(),
                     .srq = qp.srq != nullptr ? qp.srq->core.get() : nullptr,
                     .limits = {.max_send_wr = cap.max_send_wr,
                                .max_recv_wr = cap.max_recv_wr,
                                .max_send_sge = cap.max_send_sge,
                                .max_recv_sge = cap.max_recv_sge,
                                .max_inline = cap.max_inline_data},
                     .signal_all = qp.signal_all,
                     .drop_failed = true};
  auto core = pd.context.core.rnic().create_qp(*pd.core, init);
  if (!core) throw std::system_error(core.error());
  number.keep();
  return std::move(*core);
}

void fill_handle(Qp& qp, const ibv_qp_init_attr& attr) {
  ibv_qp& abi = qp.abi.qp_base;
  abi.context = qp.context.handle();
  abi.qp_context = attr.qp_context;
  abi.pd = &qp.pd->abi;
  abi.send_cq = attr.send_cq;
  abi.recv_cq = attr.recv_cq;
  abi.srq = attr.srq;
  abi.qp_num = qp.datagrams != nullptr ? qp.datagrams->num() : qp.core->num();
  abi.handle = add_handle(&qp, abi.context);
  abi.state = IBV_QPS_RESET;
  abi.qp_type = attr.qp_type;
  init_acks(abi.mutex, abi.cond);
}

void count_users(const Qp& qp, int by) {
  qp.pd->users.fetch_add(by);
  qp.send_cq->users.fetch_add(by);
  qp.recv_cq->users.fetch_add(by);
  if (qp.srq != nullptr) qp.srq->users.fetch_add(by);
}

Qp* create_qp(Context& context, Pd& pd, ibv_qp_init_attr& attr, bool builders) {
  check_type(attr.qp_type);
  const bool complete = attr.send_cq != nullptr && attr.recv_cq != nullptr;
  if (!complete || !within_limits(attr.cap) || !pd.context.core.alive()) fail(EINVAL);
  Hooks* const hooks = context.core.hooks();
  if (hooks != nullptr) hooks->creating();
  auto qp = std::make_unique<Qp>(context);
  qp->pd = &pd;
  qp->send_cq = &Cq::of(known(attr.send_cq));
  qp->recv_cq = &Cq::of(known(attr.recv_cq));
  qp->srq = attr.srq != nullptr ? &Srq::of(known(attr.srq)) : nullptr;
  qp->signal_all = attr.sq_sig_all != 0;
  qp->cap = granted(attr.cap, attr.srq != nullptr);
  if (attr.qp_type == IBV_QPT_UD) {
    qp->datagrams = make_datagram_core(pd, *qp);
  } else {
    qp->core = make_core(pd, *qp);
  }
  fill_handle(*qp, attr);
  if (builders) enable_builders(*qp);
  pd.context.core.add(qp->num(), *qp, qp->kind());
  count_users(*qp, 1);
  if (hooks != nullptr) hooks->made(*qp);
  attr.cap = qp->cap;
  return qp.release();
}

constexpr std::uint64_t kAnswered = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

void check_extensions(const ibv_qp_init_attr_ex& attr) {
  constexpr std::uint32_t kKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  constexpr std::uint64_t kOperations =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
      IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
      IBV_QP_EX_WITH_SEND_WITH_INV | kAnswered;
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) fail(EINVAL);
  check_type(attr.qp_type);
  if ((attr.comp_mask & ~kKnown) != 0) {
    fail(refused("an extended attribute of a queue pair",
                 "there are no hashes, offloads or shared connections"));
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr.create_flags != 0) {
    fail(refused("a creation flag of queue pairs", "they are about packets"));
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
      (attr.send_ops_flags & ~kOperations) != 0) {
    fail(refused("an operation of IBV_QP_INIT_ATTR_SEND_OPS_FLAGS", "iWARP has no such message"));
  }
  const bool reads = (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
                     (attr.send_ops_flags & kAnswered) != 0;
  if (attr.qp_type == IBV_QPT_UC && reads) fail(EOPNOTSUPP);
}

bool is_about(const ibv_async_event& event, const Qp& qp) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp == &qp.abi.qp_base;
    default:
      return false;
  }
}

// False: somebody may still acknowledge one.
bool settle_events(Qp& qp) {
  const auto untold =
      qp.context.async.remove([&qp](const ibv_async_event& event) { return is_about(event, qp); });
  const auto expected = qp.async_events.load() - static_cast<std::uint32_t>(untold);
  ibv_qp& abi = qp.abi.qp_base;
  return wait_for_acks(abi.mutex, abi.cond, abi.events_completed, expected);
}

// What is not known by its number any more; both as settle_events().
bool destroy_connection(Qp& qp) {
  const auto num = qp.num();
  if (Hooks* const hooks = qp.context.core.hooks()) hooks->silenced(qp);
  for (const auto& service : qp.context.core.services()) service->qp_destroyed(num);
  const bool settled = settle_events(qp);
  qp.to_itself.reset();
  qp.core.reset();
  qp.context.core.await_dispatcher();
  qp.context.core.service<BringUp>().release_number(num);
  return settled;
}

bool destroy_datagrams(Qp& qp) {
  const bool settled = settle_events(qp);
  qp.datagrams.reset();
  if (Hooks* const hooks = qp.context.core.hooks()) hooks->silenced(qp);
  return settled;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) {
  return guarded_pointer<ibv_qp>([&]() -> ibv_qp* {
    check_extensions(*attr);
    // The one begins with the fields of the other.
    auto* basic = reinterpret_cast<ibv_qp_init_attr*>(attr);
    const bool builders = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    return create_qp(Context::of(context), Pd::of(known(attr->pd)), *basic, builders)->handle();
  });
}

void push_event(Qp& qp, ibv_event_type type) {
  EventQueue<ibv_async_event>::Made made{{.element = {.qp = qp.handle()}, .event_type = type}};
  qp.async_events.fetch_add(1);
  qp.context.async.push_made(made);
}

void tell_last_wqe(Qp& qp) {
  if (qp.srq == nullptr || qp.state.load() != IBV_QPS_ERR) return;
  const std::lock_guard lock(qp.mutex);
  if (qp.last_wqe_told) return;
  push_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
  qp.last_wqe_told = true;
}

}  // namespace iwarp::rdma_core

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the C interface's half

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  return guarded_pointer<ibv_qp>([&] {
    return create_qp(Context::of(known(pd)->context), Pd::of(pd), *attr, false)->handle();
  });
}

int ibv_destroy_qp(ibv_qp* qp) {
  const CallSite here(__builtin_return_address(0));
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    remove_handle(&self);
    bool settled = true;
    if (self.context.core.alive()) {
      Core& core = self.context.core;
      if (Hooks* const hooks = core.hooks()) hooks->destroying(self);
      core.untold_ends().await(self.num());
      core.remove(self.num(), self.kind());
      settled = self.datagrams != nullptr ? destroy_datagrams(self) : destroy_connection(self);
    } else {
      (void)self.to_itself.release();  // The parent's, all of them.
      (void)self.core.release();
      (void)self.datagrams.release();
    }
    count_users(self, -1);
    if (settled) delete &self;
    return 0;
  });
}

}  // extern "C"
