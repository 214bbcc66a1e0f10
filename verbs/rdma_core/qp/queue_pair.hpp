// SPDX-License-Identifier: Apache-2.0
// Qp: the object behind the program's ibv_qp pointer. It has the fields that all types of queue
// pair share, and virtual functions that RcQp (qp/rc.hpp) and UdQp (qp/ud.hpp) implement. The
// objects behind other pointers are in objects/objects.hpp.
#pragma once

#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/types.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// The struct to which the program has a pointer. It is a base class and not a member of Qp,
/// because Qp begins with the pointer to its virtual functions.
struct QpFields {
  ibv_qp_ex abi{};  ///< must be the first member; begins with an ibv_qp
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
  std::mutex mutex;  ///< guards `state` and `attributes`
  /// The state that the program sees. The core has no states INIT and RTR: its queue pair is Idle
  /// until it is connected.
  std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  /// Whether IBV_EVENT_QP_LAST_WQE_REACHED was reported since the queue pair went to ERR.
  bool last_wqe_reported = false;
  std::uint32_t max_message = 0;  ///< maximum length of a message, which the device limits
  ibv_qp_attr attributes{};       ///< set by ibv_modify_qp() and returned by ibv_query_qp()
  ObjectEvents async_events;
  /// The requests that the program has built since ibv_wr_start() and not yet posted with
  /// ibv_wr_complete(); see qp/builders.cpp.
  struct Staged {
    /// A request in the form that ibv_post_send() takes, except that its buffers are in
    /// Staged::sges instead of wr.sg_list.
    struct Request {
      ibv_send_wr wr{};
      std::size_t first_sge = 0;
      /// Offset in `inline_data` of the payload that wr_set_inline_data() has copied.
      std::size_t inline_at = 0;
    };
    std::vector<Request> requests;
    std::vector<verbs::Sge> sges;
    std::vector<std::byte> inline_data;
    // One of the next two vectors has the converted requests; see convert_staged().
    std::vector<verbs::SendWr> ready;
    std::vector<verbs::DatagramWr> ready_datagrams;
    int error = 0;  ///< the first errno of a builder, which ibv_wr_complete() returns

    void clear();
    /// Returns the buffers of a request. Call only after all requests were added, because the span
    /// points into the vector `sges`, which moves when it grows.
    std::span<verbs::Sge> buffers_of(const Request& request);
  };
  std::unique_ptr<Staged> staged;  ///< null if the queue pair has no builders
  /// Held by the thread that builds requests, from ibv_wr_start() to ibv_wr_complete().
  Turn builder;

  // Each type of queue pair implements the functions below. Functions with the return type int
  // return 0 or an errno.
  /// Creates the core's queue pair from the fields above, and returns its number. Throws
  /// std::system_error if that fails.
  virtual verbs::QpNum make_core() = 0;
  /// Registers the queue pair with Core, which can then find this object by the queue pair's
  /// number.
  virtual void enter() = 0;
  /// Implements ibv_modify_qp() for one type of queue pair. ibv_modify_qp() itself refuses the
  /// state SQD for the types that do not have it.
  virtual int modify(const ibv_qp_attr& attr, int mask) = 0;
  /// Moves the queue pair to ERR. Has the same effect as modify() with the state IBV_QPS_ERR,
  /// except that ibv_qp::state does not change.
  virtual int to_error() = 0;
  /// Returns the current state of the queue pair, which determines what the program may post.
  virtual ibv_qp_state state_now() const { return state.load(); }
  /// Sets the attributes in `attr` whose values only the core has. Returns the state that
  /// ibv_query_qp() stores in ibv_qp::state. Call with the mutex locked.
  virtual ibv_qp_state describe(ibv_qp_attr& attr) const = 0;
  /// post() posts a list of requests, and receive() posts a list of receives. If a call fails, it
  /// sets `wr` to the first element of the list that was not posted.
  virtual int post(ibv_send_wr*& wr) = 0;
  virtual int receive(ibv_recv_wr*& wr) = 0;
  /// Converts all requests in `staged` to the core's type. Fails if any of them is invalid.
  virtual int convert_staged() = 0;
  /// Posts the requests that convert_staged() has converted, or none if the core refuses one.
  virtual int post_staged() = 0;
  // [IBV-192]
  virtual int bind(ibv_mw& /*mw*/, const ibv_mw_bind& /*bind*/) { return EINVAL; }
  /// attach() joins a multicast group on the network interfaces with the indices `on`, and detach()
  /// leaves the group. [IBV-589]
  virtual int attach(const verbs::IpAddress& /*group*/, std::span<const unsigned> /*on*/) {
    return EINVAL;
  }
  virtual int detach(const verbs::IpAddress& /*group*/) { return EINVAL; }
  /// Returns whether the queue pair is attached to a multicast group.
  virtual bool is_attached() const { return false; }
  /// Ends the queue pair and removes its number from Core. Waits until the program has acknowledged
  /// all events of the queue pair that it has read.
  virtual void end() = 0;
  /// Releases the core's queue pair without destroying it. Used in the child of a fork, in which
  /// the core's queue pair still belongs to the parent.
  virtual void abandon() noexcept = 0;

  static Qp& of(ibv_qp* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return static_cast<Qp&>(*reinterpret_cast<QpFields*>(qp)); }
  ibv_qp* handle() { return &abi.qp_base; }
  verbs::QpNum num() const { return abi.qp_base.qp_num; }
  /// Returns the capacities of the core's queue pair.
  verbs::QpLimits limits() const {
    return {.max_send_wr = cap.max_send_wr,
            .max_recv_wr = cap.max_recv_wr,
            .max_send_sge = cap.max_send_sge,
            .max_recv_sge = cap.max_recv_sge,
            .max_inline = cap.max_inline_data};
  }
};

/// Implements ibv_destroy_qp(), after the handle was checked. The queue pair may be missing in some
/// of the tables, because its creation has failed.
void destroy(Qp& qp);

// The files in qp/ share the functions below.
/// Sets the function pointers of ibv_qp_ex to the builders in qp/builders.cpp. Call once, while the
/// queue pair is created.
void enable_builders(Qp& qp);
/// If the queue pair is in ERR and has a shared receive queue, reports
/// IBV_EVENT_QP_LAST_WQE_REACHED once. This event tells the program that the queue pair consumes no
/// more receives from the shared queue.
void report_last_wqe(Qp& qp);
void push_event(Qp& qp, ibv_event_type type);
/// Returns the queue pair that the event is about, or null.
ibv_qp* qp_of(const ibv_async_event& event);
/// Removes the queue pair's asynchronous events that the program has not read yet, and waits until
/// the program has acknowledged all events that it has read.
void settle_events(Qp& qp);

}  // namespace iwarp::rdma_core
