// SPDX-License-Identifier: Apache-2.0
// This file connects the parts of the library, and is the only one that includes headers of all
// folders. It makes the services and hooks of a Core, and sets the function pointers of a context
// to functions from these folders.
#include <algorithm>
#include <cerrno>

#include "adversary/hooks.hpp"
#include "bring_up/out_of_band.hpp"
#include "careful/checker.hpp"
#include "cm/datagrams.hpp"
#include "cm/events.hpp"
#include "device/device.hpp"
#include "device/limits.hpp"
#include "faults/hooks.hpp"
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "objects/port_events.hpp"
#include "process/core.hpp"
#include "process/refusal.hpp"
#include "process/settings.hpp"
#include "qp/calls.hpp"

namespace iwarp::rdma_core {
namespace {

Services make_services(Core& core, const Settings& chosen) {
  auto out_of_band = std::make_unique<OutOfBand>(core, chosen);
  auto sidr = make_sidr();
  auto ports = std::make_unique<PortEvents>();
  Services out{.all = {}, .named = {out_of_band.get(), out_of_band.get(), ports.get(), sidr.get()}};
  out.all.push_back(make_cm_events(core));
  out.all.push_back(make_async_events(core, chosen.persona));
  out.all.push_back(std::move(out_of_band));
  out.all.push_back(std::move(sidr));
  out.all.push_back(std::move(ports));
  return out;
}

/// Makes the chain of hooks. The hooks of careful mode come first, so that careful mode sees the
/// same results as the program. Those of the adversary come before those of fault injection, which
/// counts what the device does.
std::unique_ptr<Hooks> make_hooks(Core& core, const Settings& chosen,
                                  std::optional<fault::Demand>& faults) {
  if (!faults && !chosen.careful && !chosen.adversary) return nullptr;
  auto hooks = make_library_hooks();
  if (faults) hooks = fault::make_hooks(core, std::move(*faults), std::move(hooks));
  if (chosen.adversary) hooks = adversary::make_hooks(chosen, std::move(hooks));
  if (chosen.careful) hooks = std::make_unique<careful::Checker>(core, chosen, std::move(hooks));
  return hooks;
}

/// Returns the limits of the RNIC, which all devices of the process share. [IBV-25, IBV-29, IBV-31,
/// IBV-32, IBV-38, IBV-43]
net::RnicOptions options_of(std::span<Device* const> devices) {
  net::RnicOptions out{.max_pds = 0,
                       .max_regions = 0,
                       .max_qps = 0,
                       .max_cqs = 0,
                       .max_srqs = 0,
                       .max_cqe = kMaxCqe,
                       .max_wr = kMaxWr};
  for (const Device* const device : devices) {
    const ibv_device_attr& limits = device->limits();
    const int regions = std::min(kMaxMr - limits.max_mr, limits.max_mw) + limits.max_mr;
    out.max_pds += static_cast<std::size_t>(limits.max_pd);
    out.max_regions += static_cast<std::size_t>(regions);
    out.max_qps += static_cast<std::size_t>(limits.max_qp);
    out.max_cqs += static_cast<std::size_t>(limits.max_cq);
    out.max_srqs += static_cast<std::size_t>(limits.max_srq);
  }
  return out;
}

constexpr const char* kNoXrc = "iWARP has no XRC";

// Every pointer that is not set stays null. The inline functions of verbs.h then return EOPNOTSUPP,
// or null with this errno. [IBV-67, IBV-121, IBV-123, IBV-170, IBV-173, IBV-175, IBV-379, IBV-411,
// IBV-414, IBV-415, IBV-417, IBV-419, IBV-420, IBV-426]
void fill_slots(verbs_context& context) {
  context.sz = sizeof context;
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.create_cq_ex = create_cq_ex;
  context.modify_cq = modify_cq;
  context.create_qp_ex = create_qp_ex;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_num;
  // Sets open_xrcd only to log why the call fails. If this pointer were null, the inline function
  // in the header would fail without calling the library. [IBV-412]
  context.open_xrcd = [](ibv_context*, ibv_xrcd_init_attr*) -> ibv_xrcd* {
    errno = refused("ibv_open_xrcd", kNoXrc);
    return nullptr;
  };
  // close_xrcd must be set, because the inline function in the header calls it without a check for
  // null.
  context.close_xrcd = [](ibv_xrcd*) { return refused("ibv_close_xrcd", kNoXrc); };
}

void fill_slots(ibv_context_ops& ops) {
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = post_srq_recv;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
}

}  // namespace

// Parses the fault plan first, so that an error in the plan is reported before the device is
// opened.
Core* Core::make() {
  const Settings& chosen = settings();
  auto faults = fault::demand_of(chosen);
  return make(TlsCarriers(chosen.tls),
              {.services = [&](Core& core) { return make_services(core, chosen); },
               .hooks = [&](Core& core) { return make_hooks(core, chosen, faults); },
               .metrics = chosen.metrics,
               .rnic = options_of(devices())});
}

void fill_calls(Context& context) {
  fill_slots(context.abi);
  fill_slots(context.handle()->ops);
}

}  // namespace iwarp::rdma_core
