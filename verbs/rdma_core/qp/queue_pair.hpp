// SPDX-License-Identifier: Apache-2.0
// The object behind an ibv_qp: what all types have in common, and virtual functions for what each
// does differently (RcQp in qp/rc.hpp, UdQp in qp/ud.hpp). objects/objects.hpp has the other
// objects.
#pragma once

#include "iwarp/verbs/datagram_types.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// The struct that the program has a pointer to. It is a base of its own, because an object with
/// virtual functions does not begin with its first member.
struct QpFields {
  ibv_qp_ex abi{};  ///< first; ibv_qp is its beginning
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
  /// The state that the program sees. The core has no INIT and RTR: it is Idle until it is
  /// connected.
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  /// IBV_EVENT_QP_LAST_WQE_REACHED was reported in this error state.
  bool last_wqe_told = false;
  ibv_qp_attr attributes{};  ///< set by ibv_modify_qp(), returned by ibv_query_qp()
  std::atomic<std::uint32_t> async_events{0};
  /// Requests between ibv_wr_start() and ibv_wr_complete(), see qp/builders.cpp.
  struct Staged;
  std::unique_ptr<Staged, void (*)(Staged*)> staged{nullptr, nullptr};
  Turn builder;  ///< admits one thread at a time between ibv_wr_start() and ibv_wr_complete()

  // Each type implements these differently. A function that returns an int returns 0 or an errno.
  /// Makes the core's queue pair from the fields above, and returns its number. Throws
  /// std::system_error if it cannot.
  virtual verbs::QpNum make_core() = 0;
  /// Registers the queue pair with Core, so that it is found by its number.
  virtual void enter() = 0;
  /// Implements ibv_modify_qp(). The caller has refused what no type supports.
  virtual int modify(const ibv_qp_attr& attr, int mask) = 0;
  /// Moves the queue pair to the error state, like modify().
  virtual int to_error() = 0;
  /// Returns the state that determines what may be posted.
  virtual ibv_qp_state state_now() const { return state.load(); }
  /// Fills in the attributes that only the core knows, for ibv_query_qp(), and returns the state
  /// for ibv_qp. Call with the mutex locked.
  virtual ibv_qp_state describe(ibv_qp_attr& attr) const = 0;
  /// Post a list, like post_send() and post_recv() in qp/calls.hpp. If they fail, `wr` becomes the
  /// first request that was not posted.
  virtual int post(ibv_send_wr*& wr) = 0;
  virtual int receive(ibv_recv_wr*& wr) = 0;
  /// Posts all staged requests, or none if any of them is invalid.
  virtual int post_staged() = 0;
  virtual int bind(ibv_mw& /*mw*/, const ibv_mw_bind& /*bind*/) { return EINVAL; }
  /// Join a multicast group on these interfaces, and leave it.
  virtual int attach(const verbs::IpAddress& /*group*/, std::span<const unsigned> /*on*/) {
    return EINVAL;
  }
  virtual int detach(const verbs::IpAddress& /*group*/) { return EINVAL; }
  /// Ends the queue pair and removes its number from Core. Returns false if the program may still
  /// acknowledge an event of it, so that the object must not be freed.
  virtual bool end() = 0;
  /// Releases the core's queue pair without destroying it: in the child of a fork it belongs to the
  /// parent.
  virtual void abandon() noexcept = 0;

  static Qp& of(ibv_qp* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  ibv_qp* handle() { return &abi.qp_base; }
  verbs::QpNum num() const { return abi.qp_base.qp_num; }
};

// Functions that the files about queue pairs share.
/// Sets up the builders of qp/builders.cpp. Call once, while the queue pair is created.
void enable_builders(Qp& qp);
/// Reports IBV_EVENT_QP_LAST_WQE_REACHED, once, if the queue pair is in error and has a shared
/// receive queue: it consumes no more receives from that queue.
void tell_last_wqe(Qp& qp);
void push_event(Qp& qp, ibv_event_type type);
/// Removes the queue pair's events that the program has not taken, and waits for it to acknowledge
/// those that it has. Returns false if it did not: a thread may still do so.
bool settle_events(Qp& qp);

}  // namespace iwarp::rdma_core
