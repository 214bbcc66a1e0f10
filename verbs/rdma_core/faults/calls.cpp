// SPDX-License-Identifier: Apache-2.0
#include "faults/calls.hpp"

#include <span>

#include "faults/injector.hpp"
#include "iwarp/verbs/error_guide.hpp"
#include "objects/objects.hpp"
#include "objects/ops.hpp"
#include "objects/work_completion.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core::fault {
namespace {

static_assert(IBV_WC_WR_FLUSH_ERR == 5 && IBV_WC_RNR_RETRY_EXC_ERR == 13 &&
              IBV_WC_REM_ABORT_ERR == 16 && IBV_WC_GENERAL_ERR == 21);
static_assert(IBV_EVENT_LID_CHANGE == 11 && IBV_EVENT_SM_CHANGE == 13 &&
              IBV_EVENT_CLIENT_REREGISTER == 17 && IBV_EVENT_GID_CHANGE == 18);

Injector& injector(const Context& context) { return *context.core.injector(); }

bool is_receive(ibv_wc_opcode opcode) { return (opcode & IBV_WC_RECV) != 0; }

int faulty_poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  Injector& faults = injector(Cq::of(cq).context);
  const int got = poll_cq(cq, count, wc);
  for (ibv_wc& one : std::span(wc, static_cast<std::size_t>(got))) {
    const auto status = faults.polled(one.qp_num, is_receive(one.opcode), one.status);
    if (status != one.status) one.vendor_err = verbs::kInjectedVendorError;
    one.status = status;
  }
  return got;
}

/// Posts what stands in front of the first request that is to fail.
template <typename Wr, typename Fails, typename Post>
int post_until(Wr* wr, Wr** bad_wr, Fails fails, Post post) {
  Wr* last = nullptr;
  int code = 0;
  Wr* failing = wr;
  for (; failing != nullptr && code == 0; failing = failing->next) {
    code = fails(*failing);
    if (code != 0) break;
    last = failing;
  }
  if (failing == nullptr) return post(wr);
  if (last != nullptr) {
    last->next = nullptr;
    const int earlier = post(wr);
    last->next = failing;
    if (earlier != 0) return earlier;
  }
  *bad_wr = failing;
  return code;
}

int faulty_post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  Injector& faults = injector(Qp::of(qp).context);
  return post_until(
      wr, bad_wr, [&](const ibv_send_wr&) { return faults.posted(Event::kSends, qp->qp_num); },
      [&](ibv_send_wr* list) { return post_send(qp, list, bad_wr); });
}

/// Keeps them while the queue has no receives.
template <typename Post>
int post_or_keep(Injector& faults, const void* queue, ibv_recv_wr* wr, ibv_recv_wr** bad_wr,
                 Post post) {
  return guarded([&] {
    for (; wr != nullptr; wr = wr->next) {
      const auto kept = faults.receives().keep(queue, *wr);
      if (!kept) return post(wr);
      if (*kept == 0) continue;
      *bad_wr = wr;
      return *kept;
    }
    return 0;
  });
}

int faulty_post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Qp& self = Qp::of(qp);
  Injector& faults = injector(self.context);
  return post_until(
      wr, bad_wr, [&](const ibv_recv_wr&) { return faults.posted(Event::kReceives, qp->qp_num); },
      [&](ibv_recv_wr* list) {
        return post_or_keep(faults, &self, list, bad_wr,
                            [&](ibv_recv_wr* rest) { return post_recv(qp, rest, bad_wr); });
      });
}

int faulty_post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Srq& self = Srq::of(srq);
  Injector& faults = injector(self.pd.context);
  return post_until(
      wr, bad_wr, [&](const ibv_recv_wr&) { return faults.posted(Event::kReceives, 0); },
      [&](ibv_recv_wr* list) {
        return post_or_keep(faults, &self, list, bad_wr,
                            [&](ibv_recv_wr* rest) { return post_srq_recv(srq, rest, bad_wr); });
      });
}

// Extended completion queues: what next_poll() has found is judged behind it.
int judged(ibv_cq_ex* handle, int code) {
  if (code != 0) return code;
  Cq& cq = Cq::of(handle);
  const bool receive = is_receive(wc_opcode(cq.wc));
  handle->status = injector(cq.context).polled(cq.wc.qp_num, receive, handle->status);
  return 0;
}

int faulty_start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  return judged(cq, Cq::of(cq).plain.start_poll(cq, attr));
}
int faulty_next_poll(ibv_cq_ex* cq) { return judged(cq, Cq::of(cq).plain.next_poll(cq)); }

std::uint32_t faulty_read_vendor_err(ibv_cq_ex* handle) {
  const Cq& cq = Cq::of(handle);
  if (handle->status != wc_status(cq.wc.status)) return verbs::kInjectedVendorError;
  return wc_vendor_err(cq.context.core, cq.wc);
}

}  // namespace

void may_fail(Core& core, Event event) {
  if (Injector* faults = core.injector()) faults->call(event);
}

bool is_removed(const Core& core) {
  const Injector* faults = core.injector();
  return faults != nullptr && faults->is_removed();
}

void show_port(const Core& core, ibv_port_attr& port) {
  constexpr std::uint8_t kDisabled = 3;
  const Injector* faults = core.injector();
  if (faults == nullptr || !faults->is_port_down()) return;
  port.state = IBV_PORT_DOWN;
  port.phys_state = kDisabled;
}

void opened(Context& context) {
  Injector* const faults = context.core.injector();
  if (faults == nullptr) return;
  ibv_context_ops& ops = context.handle()->ops;
  ops.poll_cq = faulty_poll_cq;
  ops.post_send = faulty_post_send;
  ops.post_recv = faulty_post_recv;
  ops.post_srq_recv = faulty_post_srq_recv;
  faults->opened(context);
}

void made(Cq& cq) {
  if (cq.context.core.injector() == nullptr) return;
  cq.plain = {.start_poll = cq.abi.start_poll, .next_poll = cq.abi.next_poll};
  cq.abi.start_poll = faulty_start_poll;
  cq.abi.next_poll = faulty_next_poll;
  cq.abi.read_vendor_err = faulty_read_vendor_err;
}

void made(Qp& qp) {
  if (Injector* faults = qp.context.core.injector()) faults->made(qp);
}

void reset(Qp& qp) {
  if (Injector* faults = qp.context.core.injector()) faults->reset(qp);
}

void gone(Qp& qp) {
  if (Injector* faults = qp.context.core.injector()) faults->gone(qp);
}

void gone(Srq& srq) {
  if (Injector* faults = srq.pd.context.core.injector()) faults->gone(srq);
}

void gone(Context& context) {
  if (Injector* faults = context.core.injector()) faults->closed(context);
}

int posted(Qp& qp, std::size_t count) {
  Injector* const faults = qp.context.core.injector();
  if (faults == nullptr) return 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (const int code = faults->posted(Event::kSends, qp.abi.qp_base.qp_num)) return code;
  }
  return 0;
}

}  // namespace iwarp::rdma_core::fault
