// SPDX-License-Identifier: Apache-2.0
// Uses and destroys queue pairs with the hooks of careful mode, the adversary and injected faults,
// which allocate memory in most calls. No exception may leave a call. A call that fails with ENOMEM
// can be repeated, and loses no request and no completion.
#include "../rdma_core/support/verbs_end.hpp"
#include "calls.hpp"
#include "scenario.hpp"

namespace failing {
namespace {

using rdma_core_test::check;
using rdma_core_test::VerbsEnd;

/// Repeats the call while it fails with ENOMEM or EINTR, as often as a plan may make it fail.
template <typename Call>
void need(const char* name, Call call) {
  const auto result = [&]() noexcept { return call(); };
  int code = ENOMEM;
  for (int i = 0; (code == ENOMEM || code == EINTR) && i <= 5; ++i) code = result();
  check(code == 0, name);
}

/// Posts two requests or receives.
template <typename Queue, typename Wr>
void post(const char* name, int (*function)(Queue*, Wr*, Wr**), Queue* queue, Wr wr) {
  Wr second = wr;
  ++second.wr_id;
  wr.next = &second;
  Wr* list = &wr;
  need(name, [&] {
    Wr* bad = nullptr;
    const int code = function(queue, list, &bad);
    if (code != 0) list = bad;  // all elements before it were posted
    return code == 0 || bad != nullptr ? code : EINVAL;
  });
}

/// Does the same as ibv_poll_cq().
int poll(const VerbsEnd& end, ibv_wc& wc) noexcept {
  if (end.cq_ex == nullptr) return ibv_poll_cq(end.cq, 1, &wc);
  ibv_poll_cq_attr attr{};
  const int code = ibv_start_poll(end.cq_ex, &attr);
  if (code != 0) return code == ENOENT ? 0 : -code;
  wc.wr_id = end.cq_ex->wr_id;
  ibv_end_poll(end.cq_ex);
  return 1;
}

/// Polls one completion for each bit of `wr_ids`. Returns false if one was lost, as the device has
/// reported.
bool poll_all(const VerbsEnd& end, unsigned wr_ids) {
  while (wr_ids != 0) {
    ibv_async_event event{};
    if (rdma_core_test::is_readable(end.context->async_fd)) {
      need("ibv_get_async_event",
           [&] { return ibv_get_async_event(end.context, &event) == 0 ? 0 : errno; });
      ibv_ack_async_event(&event);
      if (event.event_type == IBV_EVENT_CQ_ERR) return false;
    }
    ibv_wc wc{};
    const int got = poll(end, wc);
    const unsigned bit = got == 1 ? 1U << wc.wr_id : 0;
    check(got == 0 || got == -ENOMEM || (wr_ids & bit) != 0, "a poll");
    wr_ids &= ~bit;
  }
  return true;
}

/// Posts receives and requests, moves the queue pair to the error state, polls the completions that
/// this causes, and destroys the objects. Returns false if a completion was lost.
bool use(VerbsEnd& end) {
  ibv_sge sge = end.sge(0, 64);
  const ibv_recv_wr receive{.sg_list = &sge, .num_sge = 1};
  if (end.srq != nullptr) post("ibv_post_srq_recv", ibv_post_srq_recv, end.srq, receive);
  if (end.srq == nullptr) post("ibv_post_recv", ibv_post_recv, end.qp, receive);
  const ibv_send_wr send{.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
  post("ibv_post_send", ibv_post_send, end.qp, send);
  need("ibv_wr_complete", [&, builder = ibv_qp_to_qp_ex(end.qp)] {
    ibv_wr_start(builder);
    builder->wr_id = 4;
    ibv_wr_send(builder);
    ibv_wr_set_sge(builder, sge.lkey, sge.addr, sge.length);
    return ibv_wr_complete(builder);
  });
  need("ibv_req_notify_cq", [&] { return ibv_req_notify_cq(end.cq, 0); });
  need("ibv_modify_qp", [&] { return rdma_core_test::move_to(end.qp, IBV_QPS_ERR); });
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  need("ibv_query_qp", [&] { return ibv_query_qp(end.qp, &attr, IBV_QP_STATE, &init); });
  const bool has_all = poll_all(end, end.srq != nullptr ? 0b11100 : 0b11111);
  void* unused = nullptr;
  const auto get = [&] { return ibv_get_cq_event(end.channel, &end.cq, &unused) == 0 ? 0 : errno; };
  if (has_all) need("ibv_get_cq_event", get);
  if (has_all) ibv_ack_cq_events(end.cq, 1);
  const auto destroy = [](const char* name, auto*& object, auto* function) {
    if (object != nullptr) need(name, [&] { return function(object); });
    object = nullptr;
  };
  destroy("ibv_destroy_qp", end.qp, ibv_destroy_qp);
  destroy("ibv_dereg_mr", end.mr, ibv_dereg_mr);
  destroy("ibv_destroy_srq", end.srq, ibv_destroy_srq);
  destroy("ibv_destroy_cq", end.cq, ibv_destroy_cq);
  check(end.destroy(), "the other objects cannot be destroyed");
  return has_all;
}

}  // namespace

Outcome use() {
  turn_hooks_on();
  const bool is_active = end();
  try {
    VerbsEnd shared({.shared_receives = true, .extended = true, .extended_cq = true});
    VerbsEnd own({.extended = true});
    resume(is_active);
    const bool has_all = use(shared) && use(own);
    return {.error = has_all ? "" : "a completion was lost", .violation = ""};
  } catch (const std::exception& failed) {
    return {.error = "", .violation = failed.what()};
  }
}

}  // namespace failing
