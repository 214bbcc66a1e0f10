// SPDX-License-Identifier: Apache-2.0
// Which event and status a program gets for an outcome of its connection, and what the log says
// about that outcome. Statuses differ between iWARP and RoCE, as they do in the kernel.
#include <fmt/format.h>

#include <cerrno>

#include "cm/events.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

using Type = net::CmEvent::Type;
using verbs::Errc;

// The values of rdma_cm_event::status for a rejected request in InfiniBand (IB_CM_REJ_*).
constexpr int kInvalidServiceId = 8;
constexpr int kConsumerDefined = 28;

const char* name_of(Type type) {
  switch (type) {
    case Type::kEstablished:
      return "connected";
    case Type::kDisconnected:
      return "disconnected";
    case Type::kRejected:
      return "rejected_by_peer";
    default:
      return "connect_failed";
  }
}

void log_figures(CmId& id, const RcQp& qp, const std::string& peer) {
  if (!is_logged(verbs::LogLevel::kDebug)) return;
  const verbs::Counters c = id.core->rnic().counters(*qp.core);
  log_event({.level = verbs::LogLevel::kDebug,
             .event = "figures",
             .message = fmt::format(
                 "{}: octets sent {}, FPDUs sent {}, octets received {}, FPDUs received {}", peer,
                 c.octets_sent, c.fpdus_sent, c.octets_received, c.fpdus_received),
             .fields = {{"peer", peer},
                        {"qp", qp.core->num()},
                        {"octets_sent", c.octets_sent},
                        {"octets_received", c.octets_received},
                        {"fpdus_sent", c.fpdus_sent},
                        {"fpdus_received", c.fpdus_received}}});
}

}  // namespace

bool ended_before_rtr(const CmId& id, const net::CmEvent& event) {
  return id.passive && event.type == Type::kConnectFailed;
}

// [RCM-126, RCM-133, RCM-134, RCM-135, RCM-155, RCM-156, RCM-340, RCM-341]
Outcome outcome_of(const net::CmEvent& event, const CmId& id) {
  const bool as_ib = id.cm.persona == Persona::kRoce;
  if (event.type == Type::kEstablished) {
    const bool awaited = as_ib && !id.passive && !id.has_qp;
    return {awaited ? RDMA_CM_EVENT_CONNECT_RESPONSE : RDMA_CM_EVENT_ESTABLISHED, 0};
  }
  if (event.type == Type::kDisconnected || ended_before_rtr(id, event)) {
    return {RDMA_CM_EVENT_DISCONNECTED, 0};
  }
  if (event.type == Type::kRejected) {
    return {RDMA_CM_EVENT_REJECTED, as_ib ? kConsumerDefined : -ECONNREFUSED};
  }
  const int status = -to_errno(event.error);
  if (event.error == Errc::kConnectionRefused || event.error == Errc::kConnectionReset) {
    return {RDMA_CM_EVENT_REJECTED, as_ib ? kInvalidServiceId : status};
  }
  if (event.error == Errc::kTimedOut) return {RDMA_CM_EVENT_UNREACHABLE, status};
  return {RDMA_CM_EVENT_CONNECT_ERROR, status};
}

void log_outcome(CmId& id, const RcQp& qp, const net::CmEvent& event) {
  const std::string peer = id.cm.ports.describe(id.cm.ports.to_tcp(id.destination()));
  std::vector<verbs::LogField> fields{{"peer", peer}, {"qp", qp.core->num()}};
  if (event.type != Type::kEstablished) {
    const bool by_carrier = event.error == Errc::kCarrierFailed;
    // Adds the address of the peer in front of the message in two cases. In the first, the message
    // comes from a carrier (TLS), and does not name the peer. In the second, TCP ports differ from
    // the ports that the program uses, and the message contains a TCP port.
    const bool has_carrier = id.core->carriers().connecting() != nullptr;
    const bool names_peer = !(by_carrier && has_carrier) && id.cm.ports.is_plain();
    const std::string message = names_peer ? event.why : fmt::format("{}: {}", peer, event.why);
    if (event.end) {
      if (qp.end_reported) return log_figures(id, qp, peer);
      // Does not log a warning if the peer of an rsocket closes the connection. At that time, a
      // message that grants credit to the peer may still be in flight, but the loss of this message
      // does not matter. If data of the program is lost, the program's own calls fail.
      if (id.is_rsocket && event.end->cause == verbs::StreamEnd::Cause::kPeerClosed) {
        log_connection(name_of(event.type), message, std::move(fields));
      } else {
        log_stream_end(*event.end, message, std::move(fields));
      }
      log_figures(id, qp, peer);
      return;
    }
    const bool failed = event.type == Type::kConnectFailed && !ended_before_rtr(id, event);
    log_event({.level = failed ? verbs::LogLevel::kWarning : verbs::LogLevel::kInfo,
               .event = name_of(event.type),
               .message = message,
               .fields = std::move(fields)});
    return;
  }
  const auto now = qp.core->query();
  fields.push_back({"ird", now.ird});
  fields.push_back({"ord", now.ord});
  log_connection(name_of(event.type),
                 fmt::format("connected with {} (queue pair {}, IRD {}, ORD {})", peer,
                             qp.core->num(), now.ird, now.ord),
                 std::move(fields));
}

}  // namespace iwarp::rdma_core
