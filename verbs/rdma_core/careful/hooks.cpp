// SPDX-License-Identifier: Apache-2.0
#include "careful/hooks.hpp"

#include <algorithm>
#include <span>

#include "careful/checker.hpp"
#include "objects/work_completion.hpp"
#include "qp/rc.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core::careful {
namespace {

class CarefulHooks final : public Hooks {
 public:
  CarefulHooks(Core& core, const Settings& settings, std::unique_ptr<Hooks> behind)
      : Hooks(std::move(behind)), checker_(core, settings) {}

  int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) override {
    return checker_.post_send(Qp::of(qp), wr, bad_wr,
                              [&] { return behind().post_send(qp, wr, bad_wr); });
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return checker_.post_recv(qp, wr, bad_wr, [&] { return behind().post_recv(qp, wr, bad_wr); });
  }
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return checker_.post_srq_recv(srq, wr, bad_wr,
                                  [&] { return behind().post_srq_recv(srq, wr, bad_wr); });
  }
  int post_built(RcQp& qp, std::span<const verbs::SendWr> wrs) override {
    return checker_.post_all(qp, wrs, [&] { return behind().post_built(qp, wrs); });
  }
  int post_built(UdQp& qp, std::span<const verbs::DatagramWr> wrs) override {
    return checker_.post_all(qp, wrs, [&] { return behind().post_built(qp, wrs); });
  }

  int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) override {
    const int got = behind().poll_cq(cq, count, wc);
    checker_.polled(Cq::of(cq), std::span(wc, static_cast<std::size_t>(std::max(got, 0))),
                    static_cast<std::size_t>(std::max(count, 0)));
    return got;
  }
  int req_notify_cq(ibv_cq* cq, int solicited_only) override {
    checker_.arming(Cq::of(cq));
    return behind().req_notify_cq(cq, solicited_only);
  }
  int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) override {
    return found(cq, behind().start_poll(cq, attr));
  }
  int next_poll(ibv_cq_ex* cq) override { return found(cq, behind().next_poll(cq)); }

  // Calls tell() only because tell() first reports the registered memory that the program has
  // freed. The memory must be reported before the state of a queue pair changes, because a report
  // depends on the state at the time when the memory was freed.
  void changing_state() override {
    tell([](Ledger&) {});
  }
  void disconnecting(verbs::QpNum num) override {
    tell([num](Ledger& ledger) { ledger.ending_qp(num); });
  }
  void sleeping(CompChannel& channel, bool blocks) override {
    tell([&](Ledger& ledger) { ledger.sleeps(&channel.abi, blocks, call_site()); });
  }
  void sending_private_data(const char* call, std::size_t size, std::size_t limit) override {
    checker_.sending_private_data(call, size, limit);
  }

  void registered(Mr& mr) override {
    const std::span memory(static_cast<const std::byte*>(mr.abi.addr), mr.abi.length);
    checker_.registered(mr.abi.lkey, {.pd = mr.abi.pd,
                                      .memory = memory,
                                      .iova = mr.iova,
                                      .remote_write = (mr.access & IBV_ACCESS_REMOTE_WRITE) != 0,
                                      .is_zero_based = (mr.access & IBV_ACCESS_ZERO_BASED) != 0});
  }
  void deregistering(Mr& mr) override { checker_.deregistered(mr.abi.lkey); }

  void sized(Cq& cq, std::size_t capacity) override {
    tell([&](Ledger& ledger) { ledger.made_cq(&cq, cq.abi.channel, capacity); });
  }
  void took_event(Cq& cq) override {
    tell([&](Ledger& ledger) { ledger.took_event(&cq); });
  }
  void destroying(Cq& cq) override {
    tell([&](Ledger& ledger) {
      const auto taken = cq.comp_events.load();
      const auto acknowledged = cq.abi.comp_events_completed;
      ledger.destroyed_cq(&cq, taken > acknowledged ? taken - acknowledged : 0, call_site());
    });
  }
  void destroying(Srq& srq) override {
    Hooks::destroying(srq);
    tell([&](Ledger& ledger) { ledger.destroyed_queue(&srq); });
  }
  void made(Qp& qp) override {
    Hooks::made(qp);
    tell([&](Ledger& ledger) {
      ledger.made_qp(qp.num(), {.send_cq = qp.send_cq,
                                .recv_cq = qp.recv_cq,
                                .srq = qp.srq,
                                .pd = qp.abi.qp_base.pd,
                                .max_send = qp.cap.max_send_wr});
    });
  }
  void reset(Qp& qp) override {
    Hooks::reset(qp);
    tell([&](Ledger& ledger) { ledger.stopped_qp(qp.num()); });
  }
  void recovered(Qp& qp) override {
    tell([&](Ledger& ledger) { ledger.recovered_qp(qp.num()); });
  }
  void destroying(Qp& qp) override {
    tell([&](Ledger& ledger) { ledger.destroyed_qp(qp.num(), call_site()); });
  }

  void abandon() noexcept override { checker_.abandon(); }

 private:
  int found(ibv_cq_ex* handle, int code) {
    const Cq& cq = Cq::of(handle);
    if (code != 0) {
      tell([&](Ledger& ledger) { ledger.polls(&cq, 0, 1); });
      return code;
    }
    checker_.polled(cq, {.qp = cq.wc.qp_num,
                         .wr_id = cq.wc.wr_id,
                         .is_receive = (wc_opcode(cq.wc) & IBV_WC_RECV) != 0,
                         .is_success = handle->status == IBV_WC_SUCCESS,
                         .length = wc_byte_len(cq.wc)});
    return 0;
  }

  template <typename Use>
  void tell(Use use) {
    checker_.with_ledger(use);
  }

  Checker checker_;
};

}  // namespace

std::unique_ptr<Hooks> make_hooks(Core& core, const Settings& settings,
                                  std::unique_ptr<Hooks> behind) {
  return std::make_unique<CarefulHooks>(core, settings, std::move(behind));
}

}  // namespace iwarp::rdma_core::careful
