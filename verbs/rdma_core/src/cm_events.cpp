// SPDX-License-Identifier: Apache-2.0
// From what happens to connections to the events of ids, and the program's side of these.
//
// Requests of all listening ids come through one channel, and the address that a request came to
// says whose it is; the id is looked up when the request is dispatched, so it exists. A listener
// that is closed and opened again on its port (perftest does) may thus get a request of its
// predecessor: a peer asks for a port, not for a listener. Requests that nobody listens for are
// dropped, so that their senders may try again.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "cm_address.hpp"
#include "cm_id.hpp"
#include "cm_ports.hpp"
#include "limits.hpp"
#include "objects.hpp"
#include "refusal.hpp"
#include "settings.hpp"

namespace iwarp::rdma_core {
namespace {

using Type = net::CmEvent::Type;
using verbs::Errc;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::milliseconds(200);

template <typename T>
std::uint8_t clamped(T value) {
  return static_cast<std::uint8_t>(std::min<T>(value, UINT8_MAX));
}

/// As much as its length can say.
void set_private_data(CmEventRecord& event, std::vector<std::byte> data) {
  event.private_data = std::move(data);
  auto& conn = event.abi.param.conn;
  conn.private_data = event.private_data.empty() ? nullptr : event.private_data.data();
  conn.private_data_len = clamped(event.private_data.size());
}

CmId* listener_of(const sockaddr& address) {
  CmId* everywhere = nullptr;
  for (CmId* id : cm().listening) {
    if (port_of(id->source()) != port_of(address)) continue;
    if (same_host(id->source(), address)) return id;
    const bool family = id->source().sa_family == address.sa_family ||
                        (id->source().sa_family == AF_INET6 && !id->v6_only);
    if (is_any(id->source()) && family) everywhere = id;
  }
  return everywhere;
}

std::unique_ptr<CmId> make_child(CmId& listener, std::unique_ptr<net::ConnectRequest> request) {
  auto child = std::make_unique<CmId>();
  child->abi.context = listener.abi.context;
  child->abi.ps = listener.abi.ps;
  child->abi.qp_type = listener.abi.qp_type;
  child->abi.channel = listener.abi.channel;
  child->abi.pd = listener.abi.pd;
  child->abi.route.addr.src_storage = from_tcp(request->local());
  child->abi.route.addr.dst_storage = from_tcp(request->peer());
  child->state = IdState::kRequested;
  child->passive = true;
  use_device(*child);
  child->request = std::move(request);
  return child;
}

void requested(net::CmEvent& event) {
  const sockaddr_storage local = from_tcp(event.request->local());
  const std::lock_guard lock(cm().mutex);
  CmId* const listener = listener_of(reinterpret_cast<const sockaddr&>(local));
  if (listener == nullptr) {
    log_connection(fmt::format("nobody listens at {} any more for {}",
                               describe(event.request->local()), describe(event.request->peer())));
    event.request->drop();
    return;
  }
  auto record = make_event(*listener, RDMA_CM_EVENT_CONNECT_REQUEST);
  set_private_data(*record, std::move(event.private_data));
  // What the peer offers, from this side. Who does not say is taken to allow what we can.
  const auto& offer = *event.offer;
  auto& conn = record->abi.param.conn;
  conn.responder_resources = clamped(offer.enhanced ? offer.ord : kMaxReads);
  conn.initiator_depth = clamped(offer.enhanced ? offer.ird : kMaxReads);
  record->child = make_child(*listener, std::move(event.request));
  record->abi.id = &record->child->abi;
  record->abi.listen_id = &listener->abi;
  queue_event(std::move(record));
}

struct Outcome {
  rdma_cm_event_type type;
  int status;
};

/// As the kernel's iWARP CM says it.
Outcome outcome_of(const net::CmEvent& event, bool passive) {
  if (event.type == Type::kEstablished) return {RDMA_CM_EVENT_ESTABLISHED, 0};
  if (event.type == Type::kDisconnected) return {RDMA_CM_EVENT_DISCONNECTED, 0};
  if (event.type == Type::kRejected) return {RDMA_CM_EVENT_REJECTED, -ECONNREFUSED};
  const int status = -to_errno(event.error);
  if (passive) return {RDMA_CM_EVENT_CONNECT_ERROR, status};
  if (event.error == Errc::kConnectionRefused || event.error == Errc::kConnectionReset) {
    return {RDMA_CM_EVENT_REJECTED, status};
  }
  if (event.error == Errc::kTimedOut) return {RDMA_CM_EVENT_UNREACHABLE, status};
  return {RDMA_CM_EVENT_CONNECT_ERROR, status};
}

void log_outcome(CmId& id, const Qp& qp, const net::CmEvent& event) {
  if (event.type != Type::kEstablished) {
    // It speaks of TCP ports.
    const bool same = settings().port_offset == 0;
    log_connection(same ? event.why
                        : fmt::format("{}: {}", describe(to_tcp(id.destination())), event.why));
    return;
  }
  const auto now = qp.core->query();
  log_connection(fmt::format("connected with {} (queue pair {}, IRD {}, ORD {})",
                             describe(to_tcp(id.destination())), qp.core->num(), now.ird, now.ord));
}

/// DISCONNECTED, once the program has polled what succeeded before, or does not seem to want to.
/// Devices tell of the end milliseconds after the last message, and programs count on that: those
/// on libfabric destroy the queue pair, completions included, when they hear of it.
void tell_end(std::unique_ptr<CmEventRecord> event, const Qp& qp) {
  const auto num = qp.core->num();
  if (qp.core->init().recv_cq->has_success(num)) {
    cm().endings.push_back({std::move(event), num, Clock::now() + kPatience});
  } else {
    queue_event(std::move(event));
  }
}

void tell(CmId& id, const Qp& qp, net::CmEvent& event) {
  const bool established = event.type == Type::kEstablished;
  const auto outcome = outcome_of(event, id.passive);
  id.state = established ? IdState::kConnected : IdState::kEnded;
  auto record = make_event(id, outcome.type, outcome.status);
  if (established) {
    const auto now = qp.core->query();
    record->abi.param.conn.responder_resources = clamped(now.ird);
    record->abi.param.conn.initiator_depth = clamped(now.ord);
    record->source = from_tcp(event.local);
  }
  set_private_data(*record, std::move(event.private_data));
  if (event.type == Type::kDisconnected) {
    tell_end(std::move(record), qp);
  } else {
    queue_event(std::move(record));
  }
}

/// With Core's queue pairs locked, so neither that nor its id goes away.
void happened(Core& core, Qp& qp, net::CmEvent& event) {
  const bool established = event.type == Type::kEstablished;
  std::unique_lock lock(cm().mutex);
  const auto it = cm().by_qp.find(event.qp_num);
  if (it == cm().by_qp.end()) {
    lock.unlock();
    core.out_of_band().happened(qp, event);
    return;
  }
  CmId* const id = it->second;
  if (!established || id == nullptr) cm().by_qp.erase(it);
  // The program learns from its queue pair first what the event will say.
  if (established) {
    qp_connected(qp);
  } else {
    qp_disconnected(qp);
  }
  if (id != nullptr) {
    log_outcome(*id, qp, event);
    tell(*id, qp, event);
  }
  if (established && (id == nullptr || id->disconnect_wanted)) (void)qp.core->disconnect();
}

// rping ends with a thread of its own in rdma_get_cm_event(), or just about to call it again. The
// kernel keeps such a thread waiting until the process ends, so the latest channels stay for a
// while, and those that are waited on for good.
void retire(EventChannel& channel) {
  constexpr std::size_t kKept = 8;
  const std::lock_guard lock(cm().mutex);
  auto& retired = cm().retired;
  retired.push_back(&channel);
  if (retired.size() <= kKept) return;
  EventChannel* const oldest = retired.front();
  retired.pop_front();
  if (!oldest->events.is_awaited()) delete oldest;
}

}  // namespace

void dispatch_cm_event(Core& core, net::CmEvent event) {
  const int code = guarded([&] {
    if (event.type != Type::kConnectRequest) {
      core.with_qp(event.qp_num, [&](Qp& qp) { happened(core, qp, event); });
    } else if (!core.out_of_band().takes_request(event)) {
      requested(event);
    }
    return 0;
  });
  if (code != 0) log_connection(fmt::format("an event was lost: error {}", code));
}

// The dispatcher's alone, so nobody else takes endings out but with their ids.
bool dispatch_endings(Core& core) {
  std::vector<verbs::QpNum> waiting;
  {
    const std::lock_guard lock(cm().mutex);
    for (const CmEnding& end : cm().endings) waiting.push_back(end.qp_num);
  }
  const auto unpolled = [&](verbs::QpNum num) {
    bool out = false;
    core.with_qp(num, [&](Qp& qp) { out = qp.core->init().recv_cq->has_success(num); });
    return out;
  };
  std::erase_if(waiting, [&](verbs::QpNum num) { return !unpolled(num); });
  const std::lock_guard lock(cm().mutex);
  std::erase_if(cm().endings, [&](CmEnding& end) {
    const bool awaited = std::find(waiting.begin(), waiting.end(), end.qp_num) != waiting.end();
    if (awaited && Clock::now() < end.at_latest) return false;
    queue_event(std::move(end.event));
    return true;
  });
  return !cm().endings.empty();
}

CmEventRecord::CmEventRecord(CmId& its_owner) : owner(&its_owner) {}
CmEventRecord::~CmEventRecord() = default;

std::unique_ptr<CmEventRecord> make_event(CmId& id, rdma_cm_event_type type, int status) {
  auto out = std::make_unique<CmEventRecord>(id);
  out->abi.id = &id.abi;
  out->abi.event = type;
  out->abi.status = status;
  return out;
}

void queue_event(std::unique_ptr<CmEventRecord> event) {
  CmId& owner = *event->owner;
  owner.channel().events.push(event.get());
  ++owner.outstanding;
  (void)event.release();
}

}  // namespace iwarp::rdma_core

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the C interface's half

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  return guarded_pointer<rdma_event_channel>([] { return &(new EventChannel)->abi; });
}

void rdma_destroy_event_channel(rdma_event_channel* channel) { retire(EventChannel::of(channel)); }

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (channel == nullptr || event == nullptr) return minus_one(EINVAL);
  const auto record = EventChannel::of(channel).events.get();
  if (!record) return minus_one(record.error());
  if (auto child = std::move((*record)->child)) {
    // The program's now. Its listener may have moved to another channel since.
    child->abi.channel = channel;
    (void)child.release();
  }
  *event = &(*record)->abi;
  // In the program's own thread, which may look at the address at any time.
  if (const auto& source = (*record)->source) (*event)->id->route.addr.src_storage = *source;
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  if (event == nullptr) return minus_one(EINVAL);
  const std::unique_ptr<CmEventRecord> record(&CmEventRecord::of(event));
  const std::lock_guard lock(cm().mutex);
  --record->owner->outstanding;
  ++record->owner->acknowledged;
  cm().acknowledged.notify_all();
  return 0;
}

}  // extern "C"
