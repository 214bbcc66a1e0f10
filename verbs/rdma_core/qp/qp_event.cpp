// SPDX-License-Identifier: Apache-2.0
// The table of events, by layer, type and code of the Terminate, and by the kind of message that
// caused it.
#include "qp/qp_event.hpp"

#include <algorithm>
#include <array>

#include "iwarp/mpa/faults.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdma_core {
namespace {

using SubjectKind = rdmap::Subject::Kind;

constexpr std::uint8_t kEveryCode = 0xFE;

bool is_any_message(SubjectKind) { return true; }
bool needs_receive(SubjectKind kind) {
  return kind == SubjectKind::kSend || kind == SubjectKind::kImmediate;
}
bool is_atomic_message(SubjectKind kind) { return kind == SubjectKind::kAtomic; }

struct EventRow {
  bytes::Fault fault;  ///< with kEveryCode, stands for all codes of this layer and type
  bool (*is_about)(SubjectKind kind);  ///< whether the row is about a message of this kind
  std::optional<ibv_event_type> rnic;
  std::optional<ibv_event_type> roce;
};

/// Returns a row for all codes of a layer and type, and for every kind of message.
constexpr EventRow every(bytes::Layer layer, std::uint8_t type, ibv_event_type event) {
  return {{layer, type, kEveryCode}, is_any_message, event, event};
}

// The first row that fits applies.
constexpr std::array kEventRows{
    // No receive was posted in time: RNR NAK, which changes nothing at the responder (class B).
    EventRow{ddp::kUntaggedNoBuffer, needs_receive, IBV_EVENT_QP_REQ_ERR, {}},
    // Reads or atomics above the responder's limit.
    EventRow{ddp::kUntaggedNoBuffer, is_any_message, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR},
    // The receive is too short, or its memory cannot be used. The receive completes with an error.
    EventRow{ddp::kUntaggedTooLong, needs_receive, IBV_EVENT_QP_REQ_ERR, {}},
    EventRow{ddp::kDdpCatastrophic, needs_receive, IBV_EVENT_QP_ACCESS_ERR, {}},
    // The target of an atomic is misaligned.
    EventRow{rdmap::kStreamCatastrophic, is_atomic_message, IBV_EVENT_QP_REQ_ERR,
             IBV_EVENT_QP_ACCESS_ERR},
    // Protection errors of RDMAP, and errors of tagged buffers in DDP.
    every(bytes::Layer::kRdma, 1, IBV_EVENT_QP_ACCESS_ERR),
    every(bytes::Layer::kDdp, 1, IBV_EVENT_QP_ACCESS_ERR),
    // Operation errors of RDMAP, for example an unexpected opcode, and errors of untagged buffers.
    every(bytes::Layer::kRdma, 2, IBV_EVENT_QP_REQ_ERR),
    every(bytes::Layer::kDdp, 2, IBV_EVENT_QP_REQ_ERR),
};

bool fits_row(const EventRow& row, const rdmap::Terminate& terminate) {
  const bytes::Fault& fault = terminate.fault;
  return row.fault.layer == fault.layer && row.fault.type == fault.type &&
         (row.fault.code == fault.code || row.fault.code == kEveryCode) &&
         row.is_about(rdmap::subject_of(terminate).kind);
}

}  // namespace

// [IBV-328, IBV-599, IBV-600, IBV-601, IBV-611, IBV-612, IBV-613]
std::optional<ibv_event_type> event_of(const verbs::AsyncEvent& event, Persona persona) {
  const bool is_roce = persona == Persona::kRoce;
  const bool by_peer = event.type == verbs::AsyncEventType::kTerminateReceived;
  if (!event.terminate || event.terminate->fault == mpa::kTcpLost) return {};
  if (is_roce && by_peer) return {};
  const auto* const row = std::ranges::find_if(
      kEventRows, [&](const EventRow& r) { return fits_row(r, *event.terminate); });
  if (row == kEventRows.end()) return IBV_EVENT_QP_FATAL;
  return is_roce ? row->roce : row->rnic;
}

// [IBV-325]
bool is_receiver_not_ready(const rdmap::Terminate& sent) {
  return sent.fault == ddp::kUntaggedNoBuffer && needs_receive(rdmap::subject_of(sent).kind);
}

}  // namespace iwarp::rdma_core
