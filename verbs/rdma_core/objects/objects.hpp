// SPDX-License-Identifier: Apache-2.0
// The objects behind the pointers of the C interface, except queue pairs. Each object begins with
// the C struct to which the program has a pointer, and of() converts such a pointer to the object.
// As with rdma-core and the kernel, an object cannot be destroyed (EBUSY) while its member `users`
// is not 0.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "device/device.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "process/acks.hpp"
#include "process/core.hpp"
#include "process/event_queue.hpp"
#include "process/settings.hpp"
#include "process/turn.hpp"
#include "process/visit.hpp"

namespace iwarp::rdma_core {

/// An open device. All contexts of a process share one Core, so an object of one context may be
/// used with objects of another context. An object reaches the Core, the RNIC, the hooks and the
/// persona through its context.
struct Context {
  Context(Core& core_of_process, Device& its_device);
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

  verbs_context abi{};  ///< must be the first member, as the cast in of() requires
  Core& core;
  Device& device;
  net::Rnic& rnic;     ///< the RNIC of the Core
  Hooks* const hooks;  ///< the hooks of the Core; null if careful mode and fault injection are off
  const Persona persona;  ///< whether the program sees an RNIC or a RoCE adapter
  EventQueue<ibv_async_event> async;
  /// Number of protection domains, completion channels and completion queues of the context.
  std::atomic<int> users{0};
  Visits visits;  ///< users: the program, and each thread that waits for an asynchronous event
};

/// A member of type ContextUse counts its object as a user of the context, so that the context is
/// not destroyed before the object. This is necessary because some programs close a device while
/// they still have objects of it, and these objects may still report events.
struct ContextUse {
  explicit ContextUse(Context& context) : of(context) { ++of.users; }
  ~ContextUse() { --of.users; }
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;
  Context& of;
};

/// The asynchronous events of a completion queue, an SRQ or a queue pair.
class ObjectEvents {
 public:
  /// Queues an event at the context. Counts it before that, because the program may read and
  /// acknowledge a queued event at once.
  void push(Context& context, const ibv_async_event& event) {
    EventQueue<ibv_async_event>::Made made{event};
    count_.fetch_add(1);
    context.async.push_made(made);
  }
  /// Removes the events that the program has not read yet, and waits until the program has
  /// acknowledged all events that it has read. `is_about` returns whether an event is about the
  /// object with the C struct `abi`, `completed` counts acknowledgements, and `call` is the call
  /// that destroys the object.
  template <typename Abi, typename IsAbout>
  void settle(Context& context, Abi& abi, const std::uint32_t& completed, const char* call,
              IsAbout is_about) {
    const auto unread = static_cast<std::uint32_t>(context.async.remove(is_about));
    wait_for_acks(abi.mutex, abi.cond, completed, count_.load() - unread, call,
                  "ibv_ack_async_event");
  }

 private:
  std::atomic<std::uint32_t> count_{0};  ///< number of events that were ever queued
};

struct Pd {
  ibv_pd abi{};  ///< must be the first member, as the cast in of() requires
  Context& context;
  ContextUse use{context};
  std::unique_ptr<net::ProtectionDomain> core;
  /// Number of regions, windows, queue pairs, shared receive queues and address handles of the
  /// domain.
  std::atomic<int> users{0};

  static Pd& of(ibv_pd* pd) { return *reinterpret_cast<Pd*>(pd); }
};

struct Mr {
  ibv_mr abi{};  ///< must be the first member, as the cast in of() requires
  Pd* pd;
  int access;
  std::uint64_t iova;
  net::Memory core;

  static Mr& of(ibv_mr* mr) { return *reinterpret_cast<Mr*>(mr); }
};

struct Mw {
  ibv_mw abi{};  ///< must be the first member, as the cast in of() requires
  Pd& pd;
  net::Memory core;

  static Mw& of(ibv_mw* mw) { return *reinterpret_cast<Mw*>(mw); }
};

/// Zeros that follow a struct of the C interface which has no size field. If a program was built
/// with newer headers, in which the struct has more function pointers, the program reads a null
/// pointer for each function pointer that only the newer headers have.
using LaterFields = std::array<void*, 16>;

struct Cq;

struct CompChannel {
  ibv_comp_channel abi{};  ///< must be the first member, as the cast in of() requires
  Context& context;
  ContextUse use{context};
  net::CompletionChannel events;
  net::UniqueFd high{high_duplicate(events.fd())};  ///< see high_duplicate(); usually empty
  Visits visits{};  ///< users: the program, and each thread that waits for a completion event

  static CompChannel& of(ibv_comp_channel* channel) {
    return *reinterpret_cast<CompChannel*>(channel);
  }
};

struct Cq {
  explicit Cq(Context& its_context) : context(its_context) {}

  ibv_cq_ex abi{};  ///< must be the first member, as the casts in of() require
  LaterFields later{};
  Context& context;
  ContextUse use{context};
  net::CqHandle core;
  std::atomic<int> users{0};  ///< number of queue pairs that use the queue
  /// The number of events that the program has read from the channel. ibv_destroy_cq() waits until
  /// the program has acknowledged all of them.
  std::atomic<std::uint32_t> comp_events{0};
  ObjectEvents async_events;
  /// Set while the dispatcher thread waits for the program to poll this queue. The next poll clears
  /// it and calls Service::recheck().
  std::atomic<bool> is_watched{false};
  /// The completion from which the program reads fields between ibv_start_poll() and
  /// ibv_end_poll().
  verbs::WorkCompletion wc{};
  Turn poller;  ///< held by the thread that polls, from ibv_start_poll() to ibv_end_poll()

  static Cq& of(ibv_cq* cq) { return *reinterpret_cast<Cq*>(cq); }
  static Cq& of(ibv_cq_ex* cq) { return *reinterpret_cast<Cq*>(cq); }
  ibv_cq* handle() { return ibv_cq_ex_to_cq(&abi); }
};

struct Srq {
  explicit Srq(Pd& its_pd) : pd(its_pd) {}

  ibv_srq abi{};  ///< must be the first member, as the cast in of() requires
  Pd& pd;
  net::SrqHandle core;
  std::atomic<int> users{0};  ///< number of queue pairs that use the queue
  ObjectEvents async_events;

  static Srq& of(ibv_srq* srq) { return *reinterpret_cast<Srq*>(srq); }
};

/// An address handle, with the path to a peer, which is resolved when the handle is created.
struct Ah {
  ibv_ah abi{};  ///< must be the first member, as the cast in of() requires
  verbs::DatagramPath path;

  static Ah& of(ibv_ah* ah) { return *reinterpret_cast<Ah*>(ah); }
};

// The functions below implement the calls that destroy an object, after its handle was checked. The
// object may be missing in some of the tables, because its creation has failed.
void destroy(Cq& cq);
void destroy(Srq& srq);
/// Returns 0, or an errno if the region still exists.
int destroy(Mr& mr);

/// Destroys an object whose creation has failed after a table (handles, Core or hooks) got a
/// pointer to it. Repeats this if it fails, because the table must not keep the pointer.
struct Destroyer {
  template <typename Object>
  void operator()(Object* object) const noexcept {
    net::insist([&] { (void)destroy(*object); });
  }
};
/// Owns a new object until the program gets the pointer to it.
template <typename Object>
using Created = std::unique_ptr<Object, Destroyer>;

/// Creates a completion queue of at least `cqe` entries. Throws std::system_error if that fails.
Created<Cq> create_cq(Context& context, std::uint32_t cqe, void* cq_context,
                      ibv_comp_channel* channel, std::uint32_t comp_vector);
/// Call after each poll of a completion queue. If the recent polls of this thread have found no
/// completion, yields the processor as yield_policy.hpp describes.
void yield_after_poll(bool found);
/// Call after a poll if Cq::is_watched is set. Clears is_watched, and notifies the dispatcher
/// thread that waits for this poll.
void notify_watcher(Cq& cq);
/// Sets the function pointers of a new context. This function is defined in assembly.cpp.
void fill_calls(Context& context);
/// Returns the context for rdma_cm ids on this device. The first call opens this context, because a
/// program that uses rdma_cm does not open the device itself. Throws std::system_error if the
/// device cannot be opened.
ibv_context* default_context(Device& device);
verbs::IpAddress to_ip(const ibv_gid& gid);
/// Returns the source address of the datagram that was received with this GRH.
ibv_gid sender_of(const ibv_grh& grh);

}  // namespace iwarp::rdma_core
