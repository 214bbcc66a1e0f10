// SPDX-License-Identifier: Apache-2.0
// Creates and destroys queue pairs. iWARP has only one type of queue pair, the reliable connection
// (RC). With IWARP_AS=roce, programs can also create queue pairs of type UC (an RC without Reads
// and atomics) and UD. For any other type, ibv_create_qp() fails and the log names the type.
#include "qp/queue_pair.hpp"

#include <algorithm>
#include <string_view>

#include "device/device.hpp"
#include "device/limits.hpp"
#include "process/acks.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"
#include "qp/calls.hpp"
#include "qp/rc.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core {
namespace {

// [IBV-394, IBV-395, IBV-396, IBV-397]
void check_type(ibv_qp_type type, Persona persona) {
  switch (type) {
    case IBV_QPT_RC:
      return;
    case IBV_QPT_UD:
      if (const char* const why = why_no_datagrams()) fail(refused("a queue pair of type UD", why));
      return;
    case IBV_QPT_UC:
      if (persona == Persona::kRoce) return;
      fail(refused("a queue pair of type UC",
                   "all iWARP connections are reliable (use --as roce for UC)"));
    case IBV_QPT_RAW_PACKET:
      fail(refused("a queue pair of type RAW_PACKET", "this device sends no raw packets"));
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      fail(refused("a queue pair of type XRC", "iWARP has no XRC"));
    default:
      fail(refused("a queue pair of a vendor-specific type", "the type is unknown"));
  }
}

// As ibv_create_qp(3) says, the capacities of receives are ignored if the queue pair uses an SRQ.
// [IBV-26, IBV-27, IBV-374, IBV-388]
void check_capacities(const ibv_device_attr& device, ibv_qp_cap cap, bool shared_receives,
                      bool by_cm) {
  if (shared_receives) cap.max_recv_wr = cap.max_recv_sge = 0;
  struct Limit {
    const char* name;
    std::uint32_t value;
    int most;
  };
  for (const auto& [name, value, most] :
       {Limit{"max_send_wr", cap.max_send_wr, device.max_qp_wr},
        Limit{"max_recv_wr", cap.max_recv_wr, device.max_qp_wr},
        Limit{"max_send_sge", cap.max_send_sge, device.max_sge},
        Limit{"max_recv_sge", cap.max_recv_sge, device.max_sge},
        Limit{"max_inline_data", cap.max_inline_data, kMaxInline}}) {
    if (value <= static_cast<std::uint32_t>(most)) continue;
    // libfabric and Open MPI try ever larger values to find the limit, because no query reports it.
    const bool is_probe = name == std::string_view("max_inline_data") && !by_cm;
    if (is_probe) CallSite::explain();
    fail(refused(EINVAL, "cap.{} {}: must be at most {}", name, value, most));
  }
}

// The minimum value of max_inline_data for a queue pair. Some programs (rdma_xclient) request a
// max_inline_data of 0 but send inline data, which works on every adapter.
constexpr std::uint32_t kMinInline = 64;

// Returns the capacities of a new queue pair: at least the requested ones. A queue has room for at
// least one request or receive, because the core does not support queues of size 0. [IBV-387,
// IBV-389]
ibv_qp_cap granted(const Context& context, const ibv_qp_cap& asked, bool shared_receives) {
  const auto one = [](std::uint32_t n) { return std::max(n, std::uint32_t{1}); };
  const auto depth = [&](std::uint32_t n) {
    const auto most = static_cast<std::uint32_t>(context.device.limits().max_qp_wr);
    return context.hooks == nullptr ? one(n) : context.hooks->grant(n, one(n), most);
  };
  ibv_qp_cap out{.max_send_wr = depth(asked.max_send_wr),
                 .max_recv_wr = depth(asked.max_recv_wr),
                 .max_send_sge = one(asked.max_send_sge),
                 .max_recv_sge = one(asked.max_recv_sge),
                 .max_inline_data = std::max(asked.max_inline_data, kMinInline)};
  if (shared_receives) out.max_recv_wr = out.max_recv_sge = 0;
  return out;
}

void fill_abi(Qp& qp, const ibv_qp_init_attr& attr, verbs::QpNum num) {
  ibv_qp& abi = qp.abi.qp_base;
  abi.context = qp.context.handle();
  abi.qp_context = attr.qp_context;
  abi.pd = &qp.pd->abi;
  abi.send_cq = attr.send_cq;
  abi.recv_cq = attr.recv_cq;
  abi.srq = attr.srq;
  abi.qp_num = num;
  abi.state = IBV_QPS_RESET;
  abi.qp_type = attr.qp_type;
  init_acks(abi.mutex, abi.cond);
}

// [IBV-237, IBV-499]
void count_users(const Qp& qp, int by) {
  qp.pd->users.fetch_add(by);
  qp.send_cq->users.fetch_add(by);
  qp.recv_cq->users.fetch_add(by);
  if (qp.srq != nullptr) qp.srq->users.fetch_add(by);
}

std::unique_ptr<Qp> make_qp(ibv_qp_type type, Context& context) {
  if (type == IBV_QPT_UD) return std::make_unique<UdQp>(context);
  return std::make_unique<RcQp>(context);
}

// [IBV-382, IBV-383, IBV-392, IBV-398, IBV-400]
Created<Qp> create_qp(Context& context, Pd& pd, ibv_qp_init_attr& attr, bool builders) {
  check_type(attr.qp_type, context.persona);
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr) {
    fail(refused(EINVAL, "{} is null (create it with ibv_create_cq())",
                 attr.send_cq == nullptr ? "send_cq" : "recv_cq"));
  }
  // [IBV-393]
  if (attr.qp_type == IBV_QPT_UC && attr.srq != nullptr) {
    fail(
        refused(EINVAL, "srq is set: only RC and UD queue pairs can use an SRQ (set srq to null)"));
  }
  const char* const call = CallSite::call();
  const bool by_cm = call != nullptr && std::string_view(call).starts_with("rdma_");
  check_capacities(context.device.limits(), attr.cap, attr.srq != nullptr, by_cm);
  if (!pd.context.alive()) fail(EINVAL);
  Hooks* const hooks = context.hooks;
  if (hooks != nullptr) hooks->creating(context);
  auto made = make_qp(attr.qp_type, context);
  made->pd = &pd;
  made->send_cq = &Cq::of(known(attr.send_cq));
  made->recv_cq = &Cq::of(known(attr.recv_cq));
  made->srq = attr.srq != nullptr ? &Srq::of(known(attr.srq)) : nullptr;
  made->signal_all = attr.sq_sig_all != 0;
  made->max_message = context.device.max_message();
  made->cap = granted(context, attr.cap, attr.srq != nullptr);
  fill_abi(*made, attr, made->make_core());
  count_users(*made, 1);
  Created<Qp> qp(made.release());
  qp->handle()->handle = add_handle(qp->handle(), qp->handle()->context);
  if (builders) enable_builders(*qp);
  qp->enter();
  if (hooks != nullptr) hooks->made(*qp);
  attr.cap = qp->cap;
  return qp;
}

constexpr std::uint64_t kAnswered = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
constexpr std::uint64_t kDatagrams = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

// [IBV-402, IBV-403, IBV-404, IBV-405, IBV-406, IBV-407, IBV-408, IBV-626]
void check_extensions(const ibv_qp_init_attr_ex& attr, Persona persona) {
  constexpr std::uint32_t kKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  constexpr std::uint64_t kOperations =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
      IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
      IBV_QP_EX_WITH_SEND_WITH_INV | kAnswered;
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) {
    fail(refused(EINVAL, "comp_mask lacks IBV_QP_INIT_ATTR_PD (set this bit, and pd)"));
  }
  check_type(attr.qp_type, persona);
  if ((attr.comp_mask & ~kKnown) != 0) {
    fail(refused("an extended attribute of a queue pair",
                 "this device has no receive hashing, offloads or XRC"));
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr.create_flags != 0) {
    fail(refused("a queue pair creation flag", "this device supports no creation flags"));
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
      (attr.send_ops_flags & ~kOperations) != 0) {
    fail(refused("an operation in send_ops_flags", "iWARP has no message for the operation"));
  }
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) == 0) return;
  if (attr.qp_type == IBV_QPT_UC && (attr.send_ops_flags & kAnswered) != 0) {
    fail(refused(EOPNOTSUPP,
                 "send_ops_flags {:#x}: UC supports neither Reads nor atomics (clear their flags)",
                 attr.send_ops_flags));
  }
  if (attr.qp_type == IBV_QPT_UD && (attr.send_ops_flags & ~kDatagrams) != 0) {
    fail(refused(EOPNOTSUPP,
                 "send_ops_flags {:#x}: UD supports only Sends (clear the flags other than "
                 "IBV_QP_EX_WITH_SEND and IBV_QP_EX_WITH_SEND_WITH_IMM)",
                 attr.send_ops_flags));
  }
}

}  // namespace

// [IBV-401]
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) {
  const CallSite here(__builtin_return_address(0), "ibv_create_qp_ex");
  return guarded_pointer<ibv_qp>([&]() -> ibv_qp* {
    Context& self = Context::of(context);
    check_extensions(*attr, self.persona);
    // The cast is valid because ibv_qp_init_attr_ex begins with the fields of ibv_qp_init_attr.
    auto* basic = reinterpret_cast<ibv_qp_init_attr*>(attr);
    const bool builders = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    return create_qp(self, Pd::of(known(attr->pd)), *basic, builders).release()->handle();
  });
}

void destroy(Qp& qp) {
  Hooks* const hooks = qp.context.alive() ? qp.context.hooks : nullptr;
  if (hooks != nullptr) hooks->destroying(qp);
  remove_handle(qp.handle());
  if (qp.context.alive()) {
    qp.end();
  } else {
    qp.abandon();
  }
  count_users(qp, -1);
  delete &qp;
}

void push_event(Qp& qp, ibv_event_type type) {
  qp.async_events.push(qp.context, {.element = {.qp = qp.handle()}, .event_type = type});
}

// [IBV-496]
void settle_events(Qp& qp) {
  ibv_qp& abi = qp.abi.qp_base;
  qp.async_events.settle(qp.context, abi, abi.events_completed, "ibv_destroy_qp",
                         [&abi](const ibv_async_event& event) { return qp_of(event) == &abi; });
}

// [IBV-376]
void report_last_wqe(Qp& qp) {
  if (qp.srq == nullptr || qp.state.load() != IBV_QPS_ERR) return;
  const std::lock_guard lock(qp.mutex);
  if (qp.last_wqe_reported) return;
  push_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
  qp.last_wqe_reported = true;
}

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  const CallSite here(__builtin_return_address(0), "ibv_create_qp");
  return guarded_pointer<ibv_qp>([&] {
    return create_qp(Context::of(known(pd)->context), Pd::of(pd), *attr, false).release()->handle();
  });
}

// [IBV-494, IBV-495]
int ibv_destroy_qp(ibv_qp* qp) {
  const CallSite here(__builtin_return_address(0));
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    if (self.context.alive() && self.is_attached()) return EBUSY;
    destroy(self);
    return 0;
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
