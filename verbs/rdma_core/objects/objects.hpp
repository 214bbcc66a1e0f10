// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of the C interface, but for queue pairs. Each contains the C
// struct that programs hold a pointer to, and of() leads back from there. Counts of users answer
// EBUSY where rdma-core and the kernel do.
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

/// An open device. All contexts of a process share one Core; what one made, the other may use. Its
/// objects find here what they use of the process.
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
  Visits visits;              ///< of threads that wait for its events
};

/// Keeps the context of an object from being destroyed before it: programs close devices, or just
/// go on, with objects alive, and about these there may still be something to tell.
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

/// The extended structs have no size: what later headers append reads as null here.
using LaterFields = std::array<void*, 16>;

struct Cq;

struct CompChannel {
  ibv_comp_channel abi{};  ///< first
  Context& context;
  ContextUse use{context};
  net::CompletionChannel events;
  Visits visits{};  ///< of threads that wait for them

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
  /// Events taken from the channel, and put into the async queue; destroying waits until as many
  /// were acknowledged.
  std::atomic<std::uint32_t> comp_events{0};
  std::atomic<std::uint32_t> async_events{0};
  /// The dispatcher waits until completions are polled: Service::look_again(), once.
  std::atomic<bool> is_watched{false};
  verbs::WorkCompletion wc{};  ///< between ibv_start_poll() and ibv_end_poll()
  Turn poller;                 ///< who is between them

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

/// Puts the library's functions behind the pointers of a new context; in assembly.cpp.
void fill_calls(Context& context);
/// The context of the CM's ids whose program has opened none itself. Throws std::system_error.
ibv_context* default_context();

}  // namespace iwarp::rdma_core
