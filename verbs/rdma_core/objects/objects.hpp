// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of the C interface, except queue pairs. Each contains the C struct
// that programs hold a pointer to, and of() converts that pointer back. An object whose count of
// users is not 0 cannot be destroyed (EBUSY), as with rdma-core and the kernel.
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

/// An open device. All contexts of a process share one Core, so the objects of one may be used with
/// another. Objects reach the Core, the RNIC, the hooks and the persona through their context.
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
  /// Returns false in the child of a fork for a context of the parent, whose objects are dead
  /// there.
  bool alive() const { return core.alive(); }

  verbs_context abi{};  ///< first
  Core& core;
  net::Rnic& rnic;        ///< of the Core
  Hooks* const hooks;     ///< of the Core; null: nothing observes or intercepts
  const Persona persona;  ///< what kind of device the program sees
  EventQueue<ibv_async_event> async;
  std::atomic<int> users{0};  ///< domains, channels, completion queues
  Visits visits;              ///< threads that wait for events of the context
};

/// Keeps the context of an object from being destroyed before the object: programs close devices
/// while objects are alive, and these may still have events.
struct ContextUse {
  explicit ContextUse(Context& context) : of(context) { ++of.users; }
  ~ContextUse() { --of.users; }
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;
  Context& of;
};

struct Pd {
  ibv_pd abi{};  ///< first
  Context& context;
  ContextUse use{context};
  std::unique_ptr<net::ProtectionDomain> core;
  std::atomic<int> users{0};  ///< regions, windows, queue pairs, shared receive queues

  static Pd& of(ibv_pd* pd) { return *reinterpret_cast<Pd*>(pd); }
};

struct Mr {
  ibv_mr abi{};  ///< first
  Pd* pd;
  int access;
  std::uint64_t iova;
  net::Memory core;

  static Mr& of(ibv_mr* mr) { return *reinterpret_cast<Mr*>(mr); }
};

struct Mw {
  ibv_mw abi{};  ///< first
  Pd& pd;
  net::Memory core;

  static Mw& of(ibv_mw* mw) { return *reinterpret_cast<Mw*>(mw); }
};

/// The extended structs have no size field. A program built with later headers reads the functions
/// that these append as null.
using LaterFields = std::array<void*, 16>;

struct Cq;

struct CompChannel {
  ibv_comp_channel abi{};  ///< first
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

  ibv_cq_ex abi{};  ///< first; ibv_cq is its beginning
  LaterFields later{};
  Context& context;
  ContextUse use{context};
  net::CqHandle core;
  std::atomic<int> users{0};  ///< queue pairs
  /// Counts events that were taken from the channel, and events that were put into the async queue.
  /// Destroying the queue waits until as many were acknowledged.
  std::atomic<std::uint32_t> comp_events{0};
  std::atomic<std::uint32_t> async_events{0};
  /// The dispatcher waits for a poll of this queue: the next one calls Service::look_again().
  std::atomic<bool> is_watched{false};
  verbs::WorkCompletion wc{};  ///< being read, between ibv_start_poll() and ibv_end_poll()
  Turn poller;                 ///< admits one thread at a time between these calls

  static Cq& of(ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
  static Cq& of(ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
  ibv_cq* handle() { return ibv_cq_ex_to_cq(&abi); }
};

struct Srq {
  explicit Srq(Pd& its_pd) : pd(its_pd) {}

  ibv_srq abi{};  ///< first
  Pd& pd;
  net::SrqHandle core;
  std::atomic<int> users{0};  ///< queue pairs
  std::atomic<std::uint32_t> async_events{0};

  static Srq& of(ibv_srq* srq) { return *reinterpret_cast<Srq*>(srq); }
};

/// Sets the function pointers of a new context. Defined in assembly.cpp.
void fill_calls(Context& context);
/// Returns the context of rdma_cm ids for which the program has opened none itself. Throws
/// std::system_error if the device cannot be opened.
ibv_context* default_context();

}  // namespace iwarp::rdma_core
