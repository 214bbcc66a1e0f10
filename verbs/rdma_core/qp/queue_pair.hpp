// SPDX-License-Identifier: Apache-2.0
// The object behind an ibv_qp, as objects/objects.hpp has the others: what all types have, and what
// each does in a way of its own (RcQp in qp/rc.hpp, UdQp in qp/ud.hpp).
#pragma once

#include "iwarp/verbs/datagram_types.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// What the program has a pointer to. Apart from Qp, as an object with virtual functions does not
/// begin with its first member.
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
  std::mutex mutex;  ///< of state and attributes
  /// As the program knows it. The core has no INIT and RTR: it is Idle until it is connected.
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  bool last_wqe_told = false;  ///< IBV_EVENT_QP_LAST_WQE_REACHED, once in each error state
  ibv_qp_attr attributes{};    ///< what ibv_modify_qp() was told, for ibv_query_qp()
  std::atomic<std::uint32_t> async_events{0};
  /// Requests between ibv_wr_start() and ibv_wr_complete(), see qp/builders.cpp.
  struct Staged;
  std::unique_ptr<Staged, void (*)(Staged*)> staged{nullptr, nullptr};
  Turn builder;  ///< who is between ibv_wr_start() and ibv_wr_complete()

  // What the types do in ways of their own. Each int is 0 or an errno.
  /// Makes the core's queue pair, with the fields above, and returns its number. Throws
  /// std::system_error.
  virtual verbs::QpNum make_core() = 0;
  /// From now on it is found by its number.
  virtual void enter() = 0;
  /// ibv_modify_qp(), but for what no type can do.
  virtual int modify(const ibv_qp_attr& attr, int mask) = 0;
  /// To the error state, as by modify().
  virtual int to_error() = 0;
  /// The state that counts for posting.
  virtual ibv_qp_state state_now() const { return state.load(); }
  /// Fills what ibv_query_qp() asks of the core, and returns the state as ibv_qp has it. With the
  /// mutex locked.
  virtual ibv_qp_state describe(ibv_qp_attr& attr) const = 0;
  /// As post_send() and post_recv() in qp/calls.hpp: `wr` becomes the first that was not posted.
  virtual int post(ibv_send_wr*& wr) = 0;
  virtual int receive(ibv_recv_wr*& wr) = 0;
  /// Posts what is staged, all or none.
  virtual int post_staged() = 0;
  virtual int bind(ibv_mw& /*mw*/, const ibv_mw_bind& /*bind*/) { return EINVAL; }
  /// Joins a multicast group on these interfaces, and leaves it.
  virtual int attach(const verbs::IpAddress& /*group*/, std::span<const unsigned> /*on*/) {
    return EINVAL;
  }
  virtual int detach(const verbs::IpAddress& /*group*/) { return EINVAL; }
  /// Ends it; nothing finds it by its number any more. False: an event of it may still be
  /// acknowledged, so it has to stay.
  virtual bool end() = 0;
  /// In the child of a fork: the core's queue pair is the parent's, and left alone.
  virtual void abandon() noexcept = 0;

  static Qp& of(ibv_qp* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  ibv_qp* handle() { return &abi.qp_base; }
  verbs::QpNum num() const { return abi.qp_base.qp_num; }
};

// What the files about queue pairs share.
/// What the builders of qp/builders.cpp need; called once, while the queue pair is made.
void enable_builders(Qp& qp);
/// IBV_EVENT_QP_LAST_WQE_REACHED, once, if the queue pair is in error and has a shared receive
/// queue: it takes no receive from there any more.
void tell_last_wqe(Qp& qp);
void push_event(Qp& qp, ibv_event_type type);
/// Takes back its events that no thread has taken. False: of the others, some may still be
/// acknowledged.
bool settle_events(Qp& qp);

}  // namespace iwarp::rdma_core
