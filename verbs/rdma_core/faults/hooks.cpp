// SPDX-License-Identifier: Apache-2.0
// FaultHooks: tells the Injector of each call, and fails the call, or changes its completion or
// event, as the Injector demands.
#include "faults/hooks.hpp"

#include <span>

#include "faults/injector.hpp"
#include "iwarp/verbs/error_guide.hpp"
#include "objects/objects.hpp"
#include "objects/work_completion.hpp"
#include "process/errno_table.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core::fault {
namespace {

static_assert(IBV_WC_WR_FLUSH_ERR == 5 && IBV_WC_RNR_RETRY_EXC_ERR == 13 &&
              IBV_WC_REM_ABORT_ERR == 16 && IBV_WC_GENERAL_ERR == 21);
static_assert(IBV_EVENT_LID_CHANGE == 11 && IBV_EVENT_SM_CHANGE == 13 &&
              IBV_EVENT_CLIENT_REREGISTER == 17 && IBV_EVENT_GID_CHANGE == 18);

Device& device_of(ibv_context* context) { return Context::of(context).device; }

bool is_receive(ibv_wc_opcode opcode) { return (opcode & IBV_WC_RECV) != 0; }

/// Calls `fails` once for each request of the list, until `fails` returns an errno or runs out of
/// memory. Then posts only the requests that precede the failing one in the list, and returns the
/// errno.
template <typename Wr, typename Fails, typename Post>
int post_until(Wr* wr, Wr** bad_wr, Fails fails, Post post) {
  Wr* last = nullptr;
  int code = 0;
  Wr* failing = wr;
  for (; failing != nullptr; failing = failing->next) {
    code = guarded(fails);
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

class FaultHooks final : public Hooks {
 public:
  FaultHooks(Core& core, Demand demand, std::unique_ptr<Hooks> behind)
      : Hooks(std::move(behind)), injector_(core, std::move(demand)) {
    injector_.start();
  }

  int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) override {
    return post_until(
        wr, bad_wr,
        [&] { return injector_.posted(Event::kSends, qp->qp_num, device_of(qp->context)); },
        [&](ibv_send_wr* list) { return behind().post_send(qp, list, bad_wr); });
  }

  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return post_receives(*qp->context, qp->qp_num, &Qp::of(qp), wr, bad_wr,
                         [&](ibv_recv_wr* rest) { return behind().post_recv(qp, rest, bad_wr); });
  }
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return post_receives(*srq->context, 0, &Srq::of(srq), wr, bad_wr, [&](ibv_recv_wr* rest) {
      return behind().post_srq_recv(srq, rest, bad_wr);
    });
  }

  int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) override {
    const int got = behind().poll_cq(cq, count, wc);
    for (ibv_wc& one : std::span(wc, static_cast<std::size_t>(got))) {
      const auto status = injector_.polled(one.qp_num, is_receive(one.opcode), one.status);
      if (status != one.status) one.vendor_err = verbs::kInjectedVendorError;
      one.status = status;
    }
    return got;
  }

  // start_poll() and next_poll() belong to extended completion queues. If one of them finds a
  // completion, the rules are applied to this completion.
  int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) override {
    return judged(cq, behind().start_poll(cq, attr));
  }
  int next_poll(ibv_cq_ex* cq) override { return judged(cq, behind().next_poll(cq)); }

  std::uint32_t read_vendor_err(ibv_cq_ex* cq) override {
    const bool is_injected = cq->status != wc_status(Cq::of(cq).wc.status);
    return is_injected ? verbs::kInjectedVendorError : behind().read_vendor_err(cq);
  }

  int post_built(Qp& qp) override {
    for (std::size_t i = 0; i < qp.staged->requests.size(); ++i) {
      if (const int code = injector_.posted(Event::kSends, qp.num(), qp.context.device))
        return code;
    }
    return behind().post_built(qp);
  }

  void registering(Context& context) override {
    injector_.call(Event::kRegistrations, context.device);
  }
  void creating(Context& context) override { injector_.call(Event::kCreations, context.device); }

  void destroying(Srq& srq) override { injector_.gone(srq); }
  void made(Qp& qp) override {
    Hooks::made(qp);
    injector_.made(qp);
  }
  void reset(Qp& qp) override { injector_.reset(qp); }
  void silenced(Qp& qp) override { injector_.gone(qp); }

  bool is_removed(const Device& device) const override { return injector_.is_removed(device); }
  void show_port(const Device& device, ibv_port_attr& port) const override {
    constexpr std::uint8_t kDisabled = 3;
    if (!injector_.is_port_down(device)) return;
    port.state = IBV_PORT_DOWN;
    port.phys_state = kDisabled;
  }

 private:
  /// Posts receives of the queue pair `qp_num`, or of a shared receive queue if `qp_num` is 0.
  /// While a rule has withdrawn all receives from the queue, stores the new receives instead, and
  /// posts them later.
  template <typename Post>
  int post_receives(ibv_context& context, std::uint32_t qp_num, const void* queue, ibv_recv_wr* wr,
                    ibv_recv_wr** bad_wr, Post post) {
    const auto post_or_keep = [&](ibv_recv_wr* list) {
      return guarded([&] {
        for (; list != nullptr; list = list->next) {
          const auto kept = injector_.receives().keep(queue, *list);
          if (!kept) return post(list);
          if (*kept == 0) continue;
          *bad_wr = list;
          return *kept;
        }
        return 0;
      });
    };
    return post_until(
        wr, bad_wr, [&] { return injector_.posted(Event::kReceives, qp_num, device_of(&context)); },
        post_or_keep);
  }

  int judged(ibv_cq_ex* cq, int code) {
    if (code != 0) return code;
    const auto& wc = Cq::of(cq).wc;
    cq->status = injector_.polled(wc.qp_num, is_receive(wc_opcode(wc)), cq->status);
    return 0;
  }

  Injector injector_;
};

}  // namespace

std::unique_ptr<Hooks> make_hooks(Core& core, Demand demand, std::unique_ptr<Hooks> behind) {
  return std::make_unique<FaultHooks>(core, std::move(demand), std::move(behind));
}

}  // namespace iwarp::rdma_core::fault
