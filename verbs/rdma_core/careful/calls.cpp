// SPDX-License-Identifier: Apache-2.0
// The calls that stand in front of those which programs reach through pointers, and what the
// functions of the C interface tell the Checker.
#include <algorithm>

#include "careful/checker.hpp"
#include "objects/objects.hpp"
#include "objects/work_completion.hpp"

namespace iwarp::rdma_core::careful {
namespace {

// In each call: the address behind the call in the program, whose inline function is part of it.
#define IWARP_HERE const Here here(__builtin_return_address(0))

Checker& checker(const Context& context) { return *context.core.checker(); }

int careful_post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  IWARP_HERE;
  return checker(Qp::of(qp).context).post_send(qp, wr, bad_wr);
}

int careful_post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  IWARP_HERE;
  return checker(Qp::of(qp).context).post_recv(qp, wr, bad_wr);
}

int careful_post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  IWARP_HERE;
  return checker(Srq::of(srq).pd.context).post_srq_recv(srq, wr, bad_wr);
}

int careful_poll_cq(ibv_cq* handle, int count, ibv_wc* wc) {
  IWARP_HERE;
  const Cq& cq = Cq::of(handle);
  const int got = cq.context.behind.poll_cq(handle, count, wc);
  checker(cq.context).polled(cq, std::span(wc, static_cast<std::size_t>(std::max(got, 0))));
  return got;
}

int careful_req_notify_cq(ibv_cq* handle, int solicited_only) {
  const Cq& cq = Cq::of(handle);
  checker(cq.context).with_ledger([&](Ledger& ledger) { ledger.arms(&cq); });
  return cq.context.behind.req_notify_cq(handle, solicited_only);
}

int found(ibv_cq_ex* handle, int code) {
  const Cq& cq = Cq::of(handle);
  if (code != 0) {
    checker(cq.context).with_ledger([&](Ledger& ledger) { ledger.polls(&cq); });
    return code;
  }
  checker(cq.context)
      .polled(cq, {.qp = cq.wc.qp_num,
                   .wr_id = cq.wc.wr_id,
                   .is_receive = (wc_opcode(cq.wc) & IBV_WC_RECV) != 0,
                   .is_success = handle->status == IBV_WC_SUCCESS,
                   .length = wc_byte_len(cq.wc)});
  return 0;
}

int careful_start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  IWARP_HERE;
  return found(cq, Cq::of(cq).behind.start_poll(cq, attr));
}

int careful_next_poll(ibv_cq_ex* cq) {
  IWARP_HERE;
  return found(cq, Cq::of(cq).behind.next_poll(cq));
}

int careful_wr_complete(ibv_qp_ex* qp) {
  IWARP_HERE;
  return Qp::of(qp).wr_complete_behind(qp);
}

/// `use` gets the Ledger, if there is a Checker.
template <typename Use>
void tell(const Core& core, Use use) {
  if (Checker* const checker = core.checker()) checker->with_ledger(use);
}

}  // namespace

void opened(Context& context) {
  if (context.core.checker() == nullptr) return;
  ibv_context_ops& ops = context.handle()->ops;
  context.behind = ops;
  ops.post_send = careful_post_send;
  ops.post_recv = careful_post_recv;
  ops.post_srq_recv = careful_post_srq_recv;
  ops.poll_cq = careful_poll_cq;
  ops.req_notify_cq = careful_req_notify_cq;
}

void made(Cq& cq, std::size_t capacity) {
  tell(cq.context.core, [&](Ledger& ledger) { ledger.made_cq(&cq, cq.abi.channel, capacity); });
}

void made_ex(Cq& cq) {
  if (cq.context.core.checker() == nullptr) return;
  cq.behind = {.start_poll = cq.abi.start_poll, .next_poll = cq.abi.next_poll};
  cq.abi.start_poll = careful_start_poll;
  cq.abi.next_poll = careful_next_poll;
}

void made(Qp& qp) {
  if (qp.context.core.checker() == nullptr) return;
  qp.wr_complete_behind = std::exchange(qp.abi.wr_complete, careful_wr_complete);
  tell(qp.context.core, [&](Ledger& ledger) {
    ledger.made_qp(qp.abi.qp_base.qp_num, {.send_cq = qp.send_cq,
                                           .recv_cq = qp.recv_cq,
                                           .srq = qp.srq,
                                           .pd = qp.abi.qp_base.pd,
                                           .max_send = qp.cap.max_send_wr});
  });
}

void reset(Qp& qp) {
  tell(qp.context.core, [&](Ledger& ledger) { ledger.stopped_qp(qp.abi.qp_base.qp_num); });
}

void recovered(Qp& qp) {
  tell(qp.context.core, [&](Ledger& ledger) { ledger.recovered_qp(qp.abi.qp_base.qp_num); });
}

void ending(Core& core, std::uint32_t qp_num) {
  tell(core, [qp_num](Ledger& ledger) { ledger.ending_qp(qp_num); });
}

void before_a_change() {
  if (const Core* const core = Core::existing()) tell(*core, [](Ledger&) {});
}

void gone(Qp& qp) {
  tell(qp.context.core,
       [&](Ledger& ledger) { ledger.gone_qp(qp.abi.qp_base.qp_num, call_site()); });
}

void gone(Srq& srq) {
  tell(srq.pd.context.core, [&](Ledger& ledger) { ledger.gone_queue(&srq); });
}

void gone(Cq& cq) {
  tell(cq.context.core, [&](Ledger& ledger) {
    const auto taken = cq.comp_events.load();
    const auto acknowledged = cq.abi.comp_events_completed;
    ledger.gone_cq(&cq, taken > acknowledged ? taken - acknowledged : 0, call_site());
  });
}

void sleeps(CompChannel& channel) {
  tell(channel.context.core, [&](Ledger& ledger) { ledger.sleeps(&channel.abi, call_site()); });
}

void took_event(Cq& cq) {
  tell(cq.context.core, [&](Ledger& ledger) { ledger.took_event(&cq); });
}

void registered(Mr& mr, std::uint64_t iova) {
  if (Checker* const checker = mr.pd->context.core.checker()) {
    const std::span memory(static_cast<const std::byte*>(mr.abi.addr), mr.abi.length);
    checker->registered(mr.abi.lkey, {.pd = mr.abi.pd,
                                      .memory = memory,
                                      .iova = iova,
                                      .remote_write = (mr.access & IBV_ACCESS_REMOTE_WRITE) != 0});
  }
}

void deregistered(Mr& mr) {
  if (Checker* const checker = mr.pd->context.core.checker()) checker->deregistered(mr.abi.lkey);
}

}  // namespace iwarp::rdma_core::careful
