// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of the C interface, except queue pairs. Each object begins with
// the C struct to which programs hold a pointer, and of() converts such a pointer to the object. As
// with rdma-core and the kernel, an object with `users` other than 0 cannot be destroyed (EBUSY).
#pragma once

#include <infiniband/verbs.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "process/core.hpp"
#include "process/event_queue.hpp"
#include "process/settings.hpp"
#include "process/turn.hpp"
#include "process/visit.hpp"

namespace iwarp::rdma_core {

/// An open device. All contexts of a process share one Core, so an object of one context may be
/// used with objects of another. Objects use the Core, the RNIC, the hooks and the persona through
/// their context.
struct Context {
  explicit Context(Core& core_of_process);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  static Context& of(ibv_context* context) {
    auto* const its_end = reinterpret_cast<std::byte*>(context);
    return *reinterpret_cast<Context*>(its_end - offsetof(verbs_context, context));
  }
  ibv_context* handle() { return &abi.context; }
  /// Returns whether the context and its objects may be used. Returns false in the child of a fork
  /// if the context was opened by the parent.
  bool alive() const { return core.alive(); }

  verbs_context abi{};  ///< must be the first member, see of()
  Core& core;
  net::Rnic& rnic;        ///< RNIC of the Core
  Hooks* const hooks;     ///< hooks of the Core; null if no hooks observe or intercept calls
  const Persona persona;  ///< whether the program sees an RNIC or a RoCE adapter
  EventQueue<ibv_async_event> async;
  std::atomic<int> users{0};  ///< number of domains, channels and completion queues
  Visits visits;              ///< threads that wait for events of the context
};

/// Counts the object that contains it as a user of the context, so that the context is not
/// destroyed before the object. Programs close devices while objects are alive, and these objects
/// may still have events.
struct ContextUse {
  explicit ContextUse(Context& context) : of(context) { ++of.users; }
  ~ContextUse() { --of.users; }
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;
  Context& of;
};

struct Pd {
  ibv_pd abi{};  ///< must be the first member, see of()
  Context& context;
  ContextUse use{context};
  std::unique_ptr<net::ProtectionDomain> core;
  std::atomic<int> users{0};  ///< number of regions, windows, queue pairs and shared receive queues

  static Pd& of(ibv_pd* pd) { return *reinterpret_cast<Pd*>(pd); }
};

struct Mr {
  ibv_mr abi{};  ///< must be the first member, see of()
  Pd* pd;
  int access;
  std::uint64_t iova;
  net::Memory core;

  static Mr& of(ibv_mr* mr) { return *reinterpret_cast<Mr*>(mr); }
};

struct Mw {
  ibv_mw abi{};  ///< must be the first member, see of()
  Pd& pd;
  net::Memory core;

  static Mw& of(ibv_mw* mw) { return *reinterpret_cast<Mw*>(mw); }
};

/// Zeros behind a struct of the C interface that has no size field. A program that was built with
/// later headers, in which the struct has more function pointers, reads null for each of these.
using LaterFields = std::array<void*, 16>;

struct Cq;

struct CompChannel {
  ibv_comp_channel abi{};  ///< must be the first member, see of()
  Context& context;
  ContextUse use{context};
  net::CompletionChannel events;
  Visits visits{};  ///< threads that wait for events of the channel

  static CompChannel& of(ibv_comp_channel* channel) {
    return *reinterpret_cast<CompChannel*>(channel);
  }
};

struct Cq {
  explicit Cq(Context& its_context) : context(its_context) {}

  ibv_cq_ex abi{};  ///< must be the first member, see of(); begins with the ibv_cq
  LaterFields later{};
  Context& context;
  ContextUse use{context};
  net::CqHandle core;
  std::atomic<int> users{0};  ///< number of queue pairs that use this queue
  /// Count the events that the program has read from the channel, and the asynchronous events that
  /// were queued. Destroying the completion queue waits until the program has acknowledged all of
  /// them.
  std::atomic<std::uint32_t> comp_events{0};
  std::atomic<std::uint32_t> async_events{0};
  /// Set while the dispatcher waits for a poll of this queue. The next poll then calls
  /// Service::look_again().
  std::atomic<bool> is_watched{false};
  /// The completion that the program reads between ibv_start_poll() and ibv_end_poll().
  verbs::WorkCompletion wc{};
  Turn poller;  ///< admits one thread at a time between these two calls

  static Cq& of(ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
  static Cq& of(ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
  ibv_cq* handle() { return ibv_cq_ex_to_cq(&abi); }
};

struct Srq {
  explicit Srq(Pd& its_pd) : pd(its_pd) {}

  ibv_srq abi{};  ///< must be the first member, see of()
  Pd& pd;
  net::SrqHandle core;
  std::atomic<int> users{0};  ///< number of queue pairs that use this queue
  std::atomic<std::uint32_t> async_events{0};

  static Srq& of(ibv_srq* srq) { return *reinterpret_cast<Srq*>(srq); }
};

/// Sets the function pointers of a new context. Defined in assembly.cpp.
void fill_calls(Context& context);
/// Returns the context for rdma_cm ids, which the program has not opened itself. Throws
/// std::system_error if the device cannot be opened.
ibv_context* default_context();

}  // namespace iwarp::rdma_core
