// SPDX-License-Identifier: Apache-2.0
// Completion queues. When a program polls an empty queue, the core also sends and receives on the
// sockets of the queue pairs. To keep polls fast, the functions in this file take no lock of their
// own and allocate no memory when the program polls.
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "device/limits.hpp"
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "objects/work_completion.hpp"
#include "objects/yield_policy.hpp"
#include "process/acks.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

template <std::size_t N>
int poll_batches(Cq& cq, int count, ibv_wc* wc) {
  std::array<verbs::WorkCompletion, N> batch;
  int done = 0;
  while (done < count) {
    const auto wanted = std::min(N, static_cast<std::size_t>(count - done));
    const auto got = cq.core->poll(std::span(batch).first(wanted), verbs::Flushed::kApart);
    for (std::size_t i = 0; i < got; ++i) convert(cq.context.core, batch[i], wc[done++]);
    if (got < wanted) break;
  }
  return done;
}

// Removes the asynchronous events of the queue that the program has not read yet, and waits until
// the program has acknowledged all events that it has read. [IBV-217, IBV-218]
void settle_events(Cq& cq) {
  auto& abi = cq.abi;
  cq.async_events.settle(cq.context, abi, abi.async_events_completed, "ibv_destroy_cq",
                         [&cq](const ibv_async_event& event) {
                           return event.event_type == IBV_EVENT_CQ_ERR &&
                                  event.element.cq == cq.handle();
                         });
  wait_for_acks(abi.mutex, abi.cond, abi.comp_events_completed, cq.comp_events.load(),
                "ibv_destroy_cq", "ibv_ack_cq_events");
}

// Returns the capacity of a queue for which the program has requested `cqe` entries: usually the
// smallest power of two that is at least `cqe`, as in rdma-core's providers. So the queue does not
// overflow if the program causes slightly more completions than the number of entries that it has
// requested. Throws std::system_error with EINVAL if `cqe` is out of range. [IBV-30, IBV-235,
// IBV-242]
std::uint32_t capacity_for(const Context& context, std::uint32_t cqe) {
  const int most = context.device.limits().max_cqe;
  if (cqe == 0 || cqe > static_cast<unsigned>(most)) {
    fail(refused(EINVAL, "cqe {}: must be from 1 to {} (ibv_query_device() reports max_cqe)", cqe,
                 most));
  }
  const auto usual = std::bit_ceil(cqe);
  if (context.hooks == nullptr) return usual;
  return context.hooks->grant(cqe, usual, static_cast<std::uint32_t>(most));
}

}  // namespace

// [IBV-231, IBV-232, IBV-233, IBV-234]
Created<Cq> create_cq(Context& context, std::uint32_t cqe, void* cq_context,
                      ibv_comp_channel* channel, std::uint32_t comp_vector) {
  const std::uint32_t capacity = capacity_for(context, cqe);
  if (comp_vector >= kCompVectors) {
    fail(refused(EINVAL,
                 "comp_vector {}: must be less than {}, the num_comp_vectors of the context",
                 comp_vector, kCompVectors));
  }
  if (!context.alive()) fail(EINVAL);
  if (Hooks* const hooks = context.hooks) hooks->creating(context);
  auto made = std::make_unique<Cq>(context);
  auto core = context.rnic.create_cq(
      capacity, channel != nullptr ? &CompChannel::of(channel).events : nullptr);
  if (!core) throw std::system_error(core.error());
  made->core = std::move(*core);
  init_acks(made->abi.mutex, made->abi.cond);
  made->abi.context = context.handle();
  made->abi.channel = channel;
  made->abi.cq_context = cq_context;
  made->abi.cqe = static_cast<int>(capacity);
  if (channel != nullptr) std::atomic_ref(channel->refcnt).fetch_add(1);
  Created<Cq> cq(made.release());
  cq->abi.handle = add_handle(cq.get(), cq->abi.context);
  context.core.add(cq->core.get(), *cq);
  if (Hooks* const hooks = context.hooks) hooks->sized(*cq, capacity);
  return cq;
}

void destroy(Cq& cq) {
  if (Hooks* const hooks = cq.context.hooks) hooks->destroying(cq);
  remove_handle(&cq);
  if (cq.context.alive()) {
    cq.context.core.remove<Cq>(cq.core.get());
    settle_events(cq);
    cq.core.reset();
  } else {
    // Does not destroy the core's queue, which belongs to the parent process.
    (void)cq.core.release();
  }
  if (cq.abi.channel != nullptr) std::atomic_ref(cq.abi.channel->refcnt).fetch_sub(1);
  delete &cq;
}

// The YieldPolicy belongs to the thread and not to the queue, because a thread may poll several
// queues in turn.
void yield_after_poll(bool found) {
  thread_local YieldPolicy mine;
  if (!mine.polled(found)) return;
  const auto from = std::chrono::steady_clock::now();
  sched_yield();
  mine.yielded(std::chrono::steady_clock::now() - from);
}

void notify_watcher(Cq& cq) {
  if (cq.is_watched.exchange(false)) cq.context.core.recheck();
}

// [IBV-269, IBV-271]
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  Cq& self = Cq::of(cq);
  if (!self.context.alive()) return 0;
  const int got = count == 1 ? poll_batches<1>(self, count, wc) : poll_batches<16>(self, count, wc);
  yield_after_poll(got != 0);
  if (self.is_watched.load(std::memory_order_relaxed)) notify_watcher(self);
  return got;
}

// [IBV-230]
int req_notify_cq(ibv_cq* cq, int solicited_only) {
  Cq& self = Cq::of(cq);
  if (!self.context.alive()) return EIO;
  self.core->arm(solicited_only != 0 ? verbs::Notify::kSolicited : verbs::Notify::kNext);
  return 0;
}

// [IBV-243]
int modify_cq(ibv_cq*, ibv_modify_cq_attr*) {
  return refused("ibv_modify_cq", "this device does not moderate completion events");
}

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                      int comp_vector) {
  const CallSite here(__builtin_return_address(0), "ibv_create_cq");
  return guarded_pointer<ibv_cq>([&] {
    const auto entries = static_cast<std::uint32_t>(std::max(cqe, 0));
    const auto vector = static_cast<std::uint32_t>(comp_vector);
    return create_cq(Context::of(context), entries, cq_context, channel, vector)
        .release()
        ->handle();
  });
}

// [IBV-238]
int ibv_resize_cq(ibv_cq* cq, int cqe) {
  const CallSite here(__builtin_return_address(0), "ibv_resize_cq");
  return guarded_call([&] {
    Cq& self = Cq::of(known(cq));
    if (!self.context.alive()) return EIO;
    const auto capacity = capacity_for(self.context, static_cast<std::uint32_t>(std::max(cqe, 0)));
    if (const auto error = self.core->resize(capacity)) return refused(error);
    cq->cqe = static_cast<int>(capacity);
    if (Hooks* const hooks = self.context.hooks) hooks->sized(self, capacity);
    return 0;
  });
}

// [IBV-236]
int ibv_destroy_cq(ibv_cq* cq) {
  const CallSite here(__builtin_return_address(0));
  return guarded_call([&] {
    Cq& self = Cq::of(known(cq));
    if (self.users.load() != 0) return EBUSY;
    destroy(self);
    return 0;
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
