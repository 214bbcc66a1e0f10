// SPDX-License-Identifier: Apache-2.0
// Shared receive queues. ibv_create_srq_ex() refuses the types IBV_SRQT_XRC and IBV_SRQT_TM.
#include <algorithm>

#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "process/acks.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

// [IBV-44, IBV-45, IBV-346, IBV-347, IBV-348, IBV-349]
Created<Srq> create_srq(Pd& pd, void* srq_context, ibv_srq_attr& attr) {
  const ibv_device_attr& device = pd.context.device.limits();
  if (attr.max_wr == 0 || attr.max_wr > static_cast<unsigned>(device.max_srq_wr)) {
    fail(refused(EINVAL, "max_wr {}: must be from 1 to {}", attr.max_wr, device.max_srq_wr));
  }
  if (attr.max_sge > static_cast<unsigned>(device.max_srq_sge)) {
    fail(refused(EINVAL, "max_sge {}: must be at most {}", attr.max_sge, device.max_srq_sge));
  }
  if (!pd.context.alive()) fail(EINVAL);
  auto made = std::make_unique<Srq>(pd);
  attr.max_sge = std::max(attr.max_sge, std::uint32_t{1});
  if (Hooks* const hooks = pd.context.hooks) {
    hooks->creating(pd.context);
    const auto most = static_cast<std::uint32_t>(device.max_srq_wr);
    attr.max_wr = hooks->grant(attr.max_wr, attr.max_wr, most);
  }
  auto core =
      pd.context.rnic.create_srq(*pd.core, {.max_wr = attr.max_wr, .max_sge = attr.max_sge});
  if (!core) throw std::system_error(core.error());
  made->core = std::move(*core);
  made->abi.context = pd.context.handle();
  made->abi.srq_context = srq_context;
  made->abi.pd = &pd.abi;
  init_acks(made->abi.mutex, made->abi.cond);
  pd.users.fetch_add(1);
  Created<Srq> srq(made.release());
  srq->abi.handle = add_handle(srq.get(), srq->abi.context);
  pd.context.core.add(srq->core.get(), *srq);
  return srq;
}

}  // namespace

void destroy(Srq& srq) {
  remove_handle(&srq);
  Context& context = srq.pd.context;
  if (context.alive()) {
    if (Hooks* const hooks = context.hooks) hooks->destroying(srq);
    context.core.remove<Srq>(srq.core.get());
    srq.async_events.settle(context, srq.abi, srq.abi.events_completed, "ibv_destroy_srq",
                            [&srq](const ibv_async_event& event) {
                              return event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED &&
                                     event.element.srq == &srq.abi;
                            });
    srq.core.reset();
  } else {
    // Does not destroy the core's queue, which belongs to the parent process.
    (void)srq.core.release();
  }
  srq.pd.users.fetch_sub(1);
  delete &srq;
}

// [RCM-222]
// [IBV-351, IBV-352, IBV-353, IBV-354]
ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* attr) {
  const CallSite here(__builtin_return_address(0), "ibv_create_srq_ex");
  return guarded_pointer<ibv_srq>([&]() -> ibv_srq* {
    const bool basic =
        (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || attr->srq_type == IBV_SRQT_BASIC;
    if (!basic)
      fail(refused("a shared receive queue for XRC or tag matching", "iWARP has neither"));
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) {
      fail(refused(EINVAL, "comp_mask lacks IBV_SRQ_INIT_ATTR_PD (set this bit, and pd)"));
    }
    return &create_srq(Pd::of(known(attr->pd)), attr->srq_context, attr->attr).release()->abi;
  });
}

// [IBV-366]
int get_srq_num(ibv_srq*, std::uint32_t*) {
  return refused("ibv_get_srq_num", "only XRC shared receive queues have a number");
}

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  const CallSite here(__builtin_return_address(0), "ibv_create_srq");
  return guarded_pointer<ibv_srq>(
      [&] { return &create_srq(Pd::of(known(pd)), attr->srq_context, attr->attr).release()->abi; });
}

// [IBV-350]
int ibv_destroy_srq(ibv_srq* srq) {
  return guarded_call([&] {
    Srq& self = Srq::of(known(srq));
    if (self.users.load() != 0) return EBUSY;
    destroy(self);
    return 0;
  });
}

// [IBV-355, IBV-359, IBV-361, IBV-362, IBV-363]
int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  const CallSite here(__builtin_return_address(0), "ibv_modify_srq");
  return guarded_call([&] {
    Srq& self = Srq::of(known(srq));
    if (!self.pd.context.alive()) return EIO;
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) {
      return refused(
          EINVAL, "srq_attr_mask {:#x}: only IBV_SRQ_MAX_WR and IBV_SRQ_LIMIT are allowed", mask);
    }
    if ((mask & IBV_SRQ_MAX_WR) != 0) {
      return refused("changing the size of a shared receive queue",
                     "the size is fixed (create the queue with the max_wr that it will need)");
    }
    if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
    if (!self.core->arm_limit(attr->srq_limit)) return 0;
    return refused(EINVAL, "srq_limit {}: must be at most {}, the max_wr of the queue",
                   attr->srq_limit, self.core->limits().max_wr);
  });
}

// [IBV-364, IBV-365]
int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  return guarded_call([&] {
    Srq& self = Srq::of(known(srq));
    if (!self.pd.context.alive()) return EIO;
    const auto& limits = self.core->limits();
    *attr = {.max_wr = static_cast<std::uint32_t>(limits.max_wr),
             .max_sge = static_cast<std::uint32_t>(limits.max_sge),
             .srq_limit = static_cast<std::uint32_t>(self.core->armed_limit())};
    return 0;
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
