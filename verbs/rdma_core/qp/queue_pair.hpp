// SPDX-License-Identifier: Apache-2.0
// Qp: the object behind an ibv_qp. It has the fields that all types of queue pair share, and
// virtual functions that each type implements (RcQp in qp/rc.hpp, UdQp in qp/ud.hpp).
// objects/objects.hpp has the other objects.
#pragma once

#include "iwarp/verbs/datagram_types.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// The struct to which the program has a pointer. It is a separate base class, because Qp has
/// virtual functions, so its own first member is not at its beginning.
struct QpFields {
  ibv_qp_ex abi{};  ///< must be first; begins with the ibv_qp
  LaterFields later{};
};

struct Qp : QpFields {
  explicit Qp(Context& its_context) : context(its_context) {}
  virtual ~Qp() = default;
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  Context& context;
  ContextUse use{context};
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* recv_cq = nullptr;
  Srq* srq = nullptr;
  ibv_qp_cap cap{};
  bool signal_all = false;
  std::mutex mutex;  ///< guards state and attributes
  /// The state that the program sees. The core's queue pair has no INIT or RTR: it is in state Idle
  /// until it is connected.
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  /// Set when IBV_EVENT_QP_LAST_WQE_REACHED was reported, and cleared when the queue pair leaves
  /// ERR.
  bool last_wqe_told = false;
  ibv_qp_attr attributes{};  ///< set by ibv_modify_qp(), returned by ibv_query_qp()
  std::atomic<std::uint32_t> async_events{0};
  /// Requests between ibv_wr_start() and ibv_wr_complete(), see qp/builders.cpp.
  struct Staged;
  std::unique_ptr<Staged, void (*)(Staged*)> staged{nullptr, nullptr};
  Turn builder;  ///< admits one thread at a time between ibv_wr_start() and ibv_wr_complete()

  // Each type of queue pair implements the functions below. Those with an int as result return 0 or
  // an errno.
  /// Makes the core's queue pair from the fields above, and returns its number. Throws
  /// std::system_error if it cannot.
  virtual verbs::QpNum make_core() = 0;
  /// Registers the queue pair with Core, which can then find it by its number.
  virtual void enter() = 0;
  /// Implements ibv_modify_qp(). The caller has already refused attributes and states that no type
  /// supports.
  virtual int modify(const ibv_qp_attr& attr, int mask) = 0;
  /// Moves the queue pair to the error state, as modify() does.
  virtual int to_error() = 0;
  /// Returns the state of the queue pair. It determines which requests may be posted.
  virtual ibv_qp_state state_now() const { return state.load(); }
  /// Fills in the attributes that only the core knows, for ibv_query_qp(), and returns the state
  /// for ibv_qp. Call with the mutex locked.
  virtual ibv_qp_state describe(ibv_qp_attr& attr) const = 0;
  /// Post a list of requests or receives, as post_send() and post_recv() in qp/calls.hpp do. If
  /// they fail, `wr` becomes the first request that was not posted.
  virtual int post(ibv_send_wr*& wr) = 0;
  virtual int receive(ibv_recv_wr*& wr) = 0;
  /// Posts all staged requests, or none if any of them is invalid.
  virtual int post_staged() = 0;
  virtual int bind(ibv_mw& /*mw*/, const ibv_mw_bind& /*bind*/) { return EINVAL; }
  /// Join a multicast group on the interfaces with these indices, and leave the group.
  virtual int attach(const verbs::IpAddress& /*group*/, std::span<const unsigned> /*on*/) {
    return EINVAL;
  }
  virtual int detach(const verbs::IpAddress& /*group*/) { return EINVAL; }
  /// Ends the queue pair and removes its number from Core. Returns false if a thread of the program
  /// may still acknowledge an event of the queue pair, so that the object must not be freed.
  virtual bool end() = 0;
  /// Releases the core's queue pair without destroying it: in the child of a fork, that queue pair
  /// belongs to the parent.
  virtual void abandon() noexcept = 0;

  static Qp& of(ibv_qp* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  ibv_qp* handle() { return &abi.qp_base; }
  verbs::QpNum num() const { return abi.qp_base.qp_num; }
};

// The functions below are shared by the files in qp/.
/// Sets up the builders of qp/builders.cpp. Call once, while the queue pair is created.
void enable_builders(Qp& qp);
/// Reports IBV_EVENT_QP_LAST_WQE_REACHED, once, if the queue pair is in error and has a shared
/// receive queue. The event means that the queue pair consumes no more receives from that queue.
void tell_last_wqe(Qp& qp);
void push_event(Qp& qp, ibv_event_type type);
/// Removes the queue pair's events that the program has not read, and waits until the program has
/// acknowledged those that it has read. Returns false if the wait timed out: a thread of the
/// program may then still acknowledge an event.
bool settle_events(Qp& qp);

}  // namespace iwarp::rdma_core
