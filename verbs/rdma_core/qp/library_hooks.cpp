// SPDX-License-Identifier: Apache-2.0
// LibraryHooks: the last element of the chain of Hooks; see make_library_hooks().
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "qp/calls.hpp"
#include "qp/rc.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core {
namespace {

Hooks& hooks_of(const Context& context) { return *context.hooks; }
Hooks& hooks_of(ibv_cq* cq) { return hooks_of(Cq::of(cq).context); }
Hooks& hooks_of(ibv_cq_ex* cq) { return hooks_of(Cq::of(cq).context); }

// If careful mode or fault injection is on, the function pointers of the program's objects lead to
// the hooked_ functions below. A hooked_ function stores the place of the program's call, and then
// calls the chain of Hooks. The last element of the chain calls the function whose name lacks the
// prefix.

// Stores the address in the program from which a hooked_ function was called. The return address
// points into the program itself, because the wrapper in <infiniband/verbs.h> that calls through
// the function pointer is inline.
#define IWARP_HERE(call) const CallSite here(__builtin_return_address(0), call)

int hooked_post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  IWARP_HERE("ibv_post_send");
  return hooks_of(Qp::of(qp).context).post_send(qp, wr, bad_wr);
}

int hooked_post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  IWARP_HERE("ibv_post_recv");
  return hooks_of(Qp::of(qp).context).post_recv(qp, wr, bad_wr);
}

int hooked_post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  IWARP_HERE("ibv_post_srq_recv");
  return hooks_of(Srq::of(srq).pd.context).post_srq_recv(srq, wr, bad_wr);
}

// [RCM-286, RCM-287, RCM-288]
int hooked_poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  IWARP_HERE(nullptr);
  return hooks_of(cq).poll_cq(cq, count, wc);
}

int hooked_req_notify_cq(ibv_cq* cq, int solicited_only) {
  IWARP_HERE(nullptr);
  return hooks_of(cq).req_notify_cq(cq, solicited_only);
}

int hooked_start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  IWARP_HERE(nullptr);
  return hooks_of(cq).start_poll(cq, attr);
}

int hooked_next_poll(ibv_cq_ex* cq) {
  IWARP_HERE(nullptr);
  return hooks_of(cq).next_poll(cq);
}

std::uint32_t hooked_read_vendor_err(ibv_cq_ex* cq) { return hooks_of(cq).read_vendor_err(cq); }

int hooked_wr_complete(ibv_qp_ex* qp) {
  IWARP_HERE("ibv_wr_complete");
  return wr_complete(qp);
}

class LibraryHooks final : public Hooks {
 public:
  LibraryHooks() : Hooks(nullptr) {}

  int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) override {
    return rdma_core::post_send(qp, wr, bad_wr);
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return rdma_core::post_recv(qp, wr, bad_wr);
  }
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return rdma_core::post_srq_recv(srq, wr, bad_wr);
  }
  int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) override {
    return rdma_core::poll_cq(cq, count, wc);
  }
  int req_notify_cq(ibv_cq* cq, int solicited_only) override {
    return rdma_core::req_notify_cq(cq, solicited_only);
  }
  int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) override {
    return rdma_core::start_poll(cq, attr);
  }
  int next_poll(ibv_cq_ex* cq) override { return rdma_core::next_poll(cq); }
  std::uint32_t read_vendor_err(ibv_cq_ex* cq) override { return rdma_core::read_vendor_err(cq); }
  int post_built(Qp& qp) override { return qp.post_staged(); }

  void opened(Context& context) override {
    ibv_context_ops& ops = context.handle()->ops;
    ops.post_send = hooked_post_send;
    ops.post_recv = hooked_post_recv;
    ops.post_srq_recv = hooked_post_srq_recv;
    ops.poll_cq = hooked_poll_cq;
    ops.req_notify_cq = hooked_req_notify_cq;
  }
  void made_extended(Cq& cq) override {
    cq.abi.start_poll = hooked_start_poll;
    cq.abi.next_poll = hooked_next_poll;
    cq.abi.read_vendor_err = hooked_read_vendor_err;
  }
  void made(Qp& qp) override {
    if (qp.abi.wr_complete != nullptr) qp.abi.wr_complete = hooked_wr_complete;
  }
};

}  // namespace

std::unique_ptr<Hooks> make_library_hooks() { return std::make_unique<LibraryHooks>(); }

}  // namespace iwarp::rdma_core
