// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of the C interface. Each contains the C struct that programs hold
// a pointer to, and of() leads back from there. Counts of users answer EBUSY where rdma-core and
// the kernel do.
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
#include "process/turn.hpp"
#include "process/visit.hpp"

namespace iwarp::rdma_core {

/// An open device. All contexts of a process share one Core; what one made, the other may use.
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

  verbs_context abi{};  ///< first
  Core& core;
  ibv_context_ops behind{};  ///< the calls that checks stand in front of
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
  verbs::WorkCompletion wc{};  ///< between ibv_start_poll() and ibv_end_poll()
  Turn poller;                 ///< who is between them
  struct Calls {
    int (*start_poll)(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) = nullptr;
    int (*next_poll)(ibv_cq_ex* cq) = nullptr;
  };
  Calls plain{};   ///< that faults stand in front of
  Calls behind{};  ///< that checks stand in front of

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

struct Qp {
  explicit Qp(Context& its_context) : context(its_context) {}

  ibv_qp_ex abi{};  ///< first; ibv_qp is its beginning
  LaterFields later{};
  Context& context;
  ContextUse use{context};
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* recv_cq = nullptr;
  Srq* srq = nullptr;
  ibv_qp_cap cap{};
  bool signal_all = false;
  std::mutex mutex;  ///< of state and attributes
  /// As the program knows it. The core has no INIT and RTR: it is Idle until it is connected.
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  bool connected = false;      ///< from qp_connected() to the end of the connection
  bool brought_up = false;     ///< without the CM: from RTR to the end of the connection
  bool last_wqe_told = false;  ///< IBV_EVENT_QP_LAST_WQE_REACHED, once in each error state
  verbs::Access inbound = verbs::QpInit().inbound;  ///< what the peer may do
  ibv_qp_attr attributes{};  ///< what ibv_modify_qp() was told, for ibv_query_qp()
  int said = 0;              ///< which of them: IBV_QP_* bits
  /// rdma_connect()'s or rdma_accept()'s rnr_retry_count: how often the peer repeats a Send that
  /// finds no receive here. Empty: it is not connected by rdma_cm.
  std::optional<std::uint8_t> cm_rnr_retry;
  std::atomic<std::uint32_t> async_events{0};
  /// Requests between ibv_wr_start() and ibv_wr_complete(), see qp/builders.cpp.
  struct Staged;
  std::unique_ptr<Staged, void (*)(Staged*)> staged{nullptr, nullptr};
  int (*wr_complete_behind)(ibv_qp_ex* qp) = nullptr;  ///< the one that checks stand in front of
  Turn builder;        ///< who is between ibv_wr_start() and ibv_wr_complete()
  net::QpHandle core;  ///< ends before the rest; null of UD
  std::unique_ptr<net::DatagramQp> datagrams;  ///< of UD alone
  /// Of one that is connected to itself: the end that sends; `core` is the one that receives.
  net::QpHandle to_itself;

  verbs::QueuePair& sender() { return to_itself != nullptr ? *to_itself : *core; }
  static Qp& of(ibv_qp* qp) { return *reinterpret_cast<Qp*>(qp); }
  static Qp& of(ibv_qp_ex* qp) { return *reinterpret_cast<Qp*>(qp); }
  ibv_qp* handle() { return &abi.qp_base; }
};

// What the CM and the bring-up without it need of a queue pair; queue_pair.cpp.
/// It is connected: the program sees RTS, but in ibv_qp only what it does itself.
void qp_connected(Qp& qp);
/// In the program's thread: it reads of the connection, and sees RTS there as well.
void show_connected(Qp& qp);
/// Its connection is over, or did not come about: the program sees ERR, and all that is posted is
/// flushed.
void qp_disconnected(Qp& qp);
/// Its connection is over, and no CM tells: state and receives stay as they are for the program.
void qp_peer_left(Qp& qp);
/// Behind that: a request has waited for long enough. ERR, and its completion says so.
void qp_retry_exceeded(Qp& qp);
/// Its core's connection ended by an error of either end, and not because the peer left.
bool is_in_error(const verbs::QpAttributes& core);
/// The connection is to end. As RoCE the queue pair is in ERR and all that was posted is flushed;
/// of an RNIC it drains first (SQD) unless `flush`. False: the peer may still ask about what it
/// sent last, call it again.
bool close_connection(Qp& qp, bool flush);
/// What its queues may get from now on: all once the program has given it up.
void qp_announce(Qp& qp, verbs::Announce which);

}  // namespace iwarp::rdma_core
