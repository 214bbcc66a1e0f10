// SPDX-License-Identifier: Apache-2.0
// LibraryHooks: the last element of the chain of Hooks; see make_library_hooks().
#include "objects/calls.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/next.hpp"
#include "qp/calls.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {
namespace {

Hooks& hooks_of(ibv_qp* qp) { return *Qp::of(qp).context.hooks; }
Hooks& hooks_of(ibv_srq* srq) { return *Srq::of(srq).pd.context.hooks; }
Hooks& hooks_of(ibv_cq* cq) { return *Cq::of(cq).context.hooks; }
Hooks& hooks_of(ibv_cq_ex* cq) { return *Cq::of(cq).context.hooks; }

// If careful mode or fault injection is on, the function pointers of the program's objects lead to
// the functions below, and those to the chain of Hooks. The last element of the chain calls the
// function of the library.

/// Stores the place of the program's call, and calls the function `kHook` of the chain. The return
/// address points into the program itself, because the wrapper in <infiniband/verbs.h> that calls
/// through the function pointer is inline. If a hook runs out of memory, returns `kNoMemory`.
/// [RCM-286, RCM-287, RCM-288]
template <auto kHook, int kNoMemory, typename Object, typename... Arguments>
int hooked(Object* object, Arguments... arguments) {
  const CallSite here(__builtin_return_address(0));
  const int code = or_no_memory([&] { return (hooks_of(object).*kHook)(object, arguments...); });
  return code >= 0 ? code : kNoMemory;
}

/// Does the same for a list of requests or receives. If a hook throws, none of them was posted.
/// `kCall` is the name of the wrapper.
template <auto kHook, FunctionName kCall, typename Object, typename Wr>
int hooked_post(Object* object, Wr* wr, Wr** bad_wr) {
  const CallSite here(__builtin_return_address(0), kCall.text);
  const int code = or_no_memory([&] { return (hooks_of(object).*kHook)(object, wr, bad_wr); });
  if (code >= 0) return code;
  *bad_wr = wr;
  return ENOMEM;
}

int hooked_wr_complete(ibv_qp_ex* qp) {
  const CallSite here(__builtin_return_address(0), "ibv_wr_complete");
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
    ops.post_send = hooked_post<&Hooks::post_send, "ibv_post_send">;
    ops.post_recv = hooked_post<&Hooks::post_recv, "ibv_post_recv">;
    ops.post_srq_recv = hooked_post<&Hooks::post_srq_recv, "ibv_post_srq_recv">;
    ops.poll_cq = hooked<&Hooks::poll_cq, -ENOMEM>;
    ops.req_notify_cq = hooked<&Hooks::req_notify_cq, ENOMEM>;
  }
  void made_extended(Cq& cq) override {
    cq.abi.start_poll = hooked<&Hooks::start_poll, ENOMEM>;
    cq.abi.next_poll = hooked<&Hooks::next_poll, ENOMEM>;
    cq.abi.read_vendor_err = [](ibv_cq_ex* of) { return hooks_of(of).read_vendor_err(of); };
  }
  void made(Qp& qp) override {
    if (qp.abi.wr_complete != nullptr) qp.abi.wr_complete = hooked_wr_complete;
  }
};

}  // namespace

std::unique_ptr<Hooks> make_library_hooks() { return std::make_unique<LibraryHooks>(); }

}  // namespace iwarp::rdma_core
