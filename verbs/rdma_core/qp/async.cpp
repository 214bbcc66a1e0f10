// SPDX-License-Identifier: Apache-2.0
// Asynchronous events. This file converts each event of the core to an ibv_async_event. It queues
// the event at the context in which the queue pair, completion queue or SRQ was created.
#include <fmt/format.h>

#include "iwarp/verbs/error_guide.hpp"
#include "process/acks.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/calls.hpp"
#include "qp/qp_event.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {
namespace {

using verbs::AsyncEventType;

// [IBV-290, IBV-605]
void report_overflow(Cq& cq, verbs::QpNum of) {
  log_event({.level = verbs::LogLevel::kWarning,
             .event = "cq_overflow",
             .message = fmt::format(
                 "a completion queue with a capacity of {} overflowed: a completion of queue pair "
                 "{} was lost, and its connection ends (create the queue with an entry for each "
                 "request and receive that may be outstanding, and poll it)",
                 cq.abi.cqe, of),
             .fields = {{"entries", static_cast<std::uint64_t>(cq.abi.cqe)}, {"qp", of}}});
  cq.async_events.push(cq.context,
                       {.element = {.cq = cq.handle()}, .event_type = IBV_EVENT_CQ_ERR});
}

void log_overdue(const Qp& qp) {
  const char* const where = qp.srq != nullptr ? "shared receive queue" : "queue pair";
  log_event({.level = verbs::LogLevel::kWarning,
             .event = "receive_overdue",
             .message = fmt::format("queue pair {:#08x}: a message from the peer has been waiting "
                                    "for two seconds, because no "
                                    "receive is posted (post a receive to the {}; better, post "
                                    "enough receives before the peer "
                                    "sends)",
                                    qp.num(), where),
             .fields = {{"qp", qp.num()}}});
}

// [IBV-606]
void report_limit(Srq& srq) {
  srq.async_events.push(srq.pd.context,
                        {.element = {.srq = &srq.abi}, .event_type = IBV_EVENT_SRQ_LIMIT_REACHED});
}

class AsyncEvents final : public Service {
 public:
  AsyncEvents(Core& core, Persona persona) : core_(core), persona_(persona) {}

  bool takes(const verbs::AsyncEvent& event) override {
    dispatch(event);
    return true;
  }

  std::uint32_t vendor_error(verbs::QpNum num) override {
    std::uint32_t out = 0;
    core_.with_qp(num, [&out](RcQp& qp) {
      const auto attributes = qp.sender().query();
      const auto& terminate =
          attributes.terminate_sent ? attributes.terminate_sent : attributes.terminate_received;
      if (terminate) out = verbs::vendor_error(terminate->fault);
    });
    return out;
  }

 private:
  void dispatch(const verbs::AsyncEvent& event) {
    switch (event.type) {
      case AsyncEventType::kTerminateReceived:
      case AsyncEventType::kTerminateSent:
      // kLlpConnectionLost is handled in the same way, because it contains a fault if this end
      // could not send its Terminate.
      case AsyncEventType::kLlpConnectionLost:
        if (const auto type = event_of(event, persona_)) {
          core_.with_qp(event.qp_num, [type](Qp& qp) { push_event(qp, *type); });
        }
        return;
      case AsyncEventType::kCqOverflow:
        core_.with_queue<Cq>(event.object, [&event](Cq& cq) { report_overflow(cq, event.qp_num); });
        return;
      case AsyncEventType::kSrqLimit:
        core_.with_queue<Srq>(event.object, [](Srq& srq) { report_limit(srq); });
        return;
      case AsyncEventType::kReceiveOverdue:
        core_.with_qp(event.qp_num, [](const Qp& qp) { log_overdue(qp); });
        return;
      // [IBV-603]
      case AsyncEventType::kSendsDrained:
        core_.with_qp(event.qp_num, [](Qp& qp) { push_event(qp, IBV_EVENT_SQ_DRAINED); });
        return;
      // [IBV-602]
      case AsyncEventType::kFirstMessage:
        core_.with_qp(event.qp_num, [](RcQp& qp) {
          if (qp.state.load() == IBV_QPS_RTR) push_event(qp, IBV_EVENT_COMM_EST);
        });
        return;
      // Does nothing for kLastReceive: report_last_wqe() reports IBV_EVENT_QP_LAST_WQE_REACHED when
      // the queue pair goes to ERR.
      case AsyncEventType::kLastReceive:
      case AsyncEventType::kLlpCloseComplete:
      case AsyncEventType::kBadClose:
        return;
    }
  }

  Core& core_;
  const Persona persona_;
};

}  // namespace

ibv_qp* qp_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
      return event.element.qp;
    default:
      return nullptr;
  }
}

std::unique_ptr<Service> make_async_events(Core& core, Persona persona) {
  return std::make_unique<AsyncEvents>(core, persona);
}

extern "C" {

// [IBV-593]
int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Context& self = Context::of(context);
  if (!self.alive()) return minus_one(EIO);
  const Visit visit(self);
  const auto taken = self.async.get();
  if (!taken) return minus_one(taken.error());
  *event = *taken;
  return 0;
}

// [IBV-597]
void ibv_ack_async_event(ibv_async_event* event) {
  // Acknowledgements for events of the port and of the device are not counted.
  if (event->event_type == IBV_EVENT_CQ_ERR) {
    ibv_cq& cq = *event->element.cq;
    acknowledge(cq.mutex, cq.cond, cq.async_events_completed, 1);
  } else if (event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
    ibv_srq& srq = *event->element.srq;
    acknowledge(srq.mutex, srq.cond, srq.events_completed, 1);
  } else if (ibv_qp* const qp = qp_of(*event)) {
    acknowledge(qp->mutex, qp->cond, qp->events_completed, 1);
  }
}

}  // extern "C"

}  // namespace iwarp::rdma_core
