// SPDX-License-Identifier: Apache-2.0
// Converts the core's events of connections to events of an rdma_cm_id, and implements the calls
// with which a program reads events of an rdma_cm_id.
//
// Connection requests for all listening ids arrive through one channel. The dispatcher looks up the
// listening id by the destination address of the request, so it never uses an id that has been
// destroyed. If a program closes a listener and opens another one on the same port (as perftest
// does), the second listener may therefore get a request that arrived for the first one. This is
// correct, because a peer connects to a port and not to a listener. If no id listens on the port,
// the dispatcher drops the request and does not reject it, so that the peer may try again.
//
// This file also decides when the completions of a queue pair are pushed to its completion queues.
// No completion is pushed before the program can read ESTABLISHED. Completions that were flushed at
// the end of the connection are not pushed before the program can read the event that reports this
// end.
#include "cm/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <system_error>

#include "bring_up/out_of_band.hpp"
#include "cm/address.hpp"
#include "cm/ib_attr.hpp"
#include "cm/reaction.hpp"
#include "iwarp/net/event_fd.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

using Type = net::CmEvent::Type;
using verbs::Errc;
using Clock = std::chrono::steady_clock;

constexpr auto kTimeout = std::chrono::milliseconds(200);

// [RCM-106, RCM-107, RCM-108]
CmId* listener_of(const Cm& cm, const sockaddr& address) {
  CmId* everywhere = nullptr;
  for (CmId* id : cm.listening) {
    if (port_of(id->source()) != port_of(address)) continue;
    if (same_host(id->source(), address)) return id;
    const bool family = id->source().sa_family == address.sa_family ||
                        (id->source().sa_family == AF_INET6 && !id->v6_only);
    if (is_any(id->source()) && family) everywhere = id;
  }
  return everywhere;
}

/// Queues a connection request. If the end of an earlier connection to the same port has not been
/// reported yet, defers the request until that end has been reported.
/// [RCM-121]
void queue_request(Cm& cm, std::unique_ptr<CmEventRecord> event, std::uint16_t port) {
  auto& endings = cm.endings;
  if (std::ranges::any_of(endings, [port](const auto& end) { return end.own_port == port; })) {
    endings.push_back({.event = std::move(event), .own_port = port});
  } else {
    queue_event(std::move(event));
  }
}

/// Drops a connection request, and logs `text` as the reason. `text` must have placeholders for the
/// addresses of the listener and of the peer, in this order.
void drop(const PortMap& ports, net::ConnectRequest& request, const char* event,
          fmt::format_string<const std::string&, const std::string&> text) {
  const std::string at = ports.describe(request.local());
  const std::string peer = ports.describe(request.peer());
  log_connection(event, fmt::format(text, at, peer), {{"peer", peer}});
  request.drop();
}

// [RCM-111, RCM-112, RCM-118, RCM-119, RCM-160, RCM-170, RCM-171]
void requested(Cm& cm, net::CmEvent& event) {
  const sockaddr_storage local = cm.ports.from_tcp(event.request->local());
  const std::lock_guard lock(cm.mutex);
  CmId* const listener = listener_of(cm, reinterpret_cast<const sockaddr&>(local));
  if (listener == nullptr) {
    drop(cm.ports, *event.request, "request_dropped",
         "no id listens on {} any more: dropped the connection request from {}");
    return;
  }
  if (listener->waiting_requests.load() >= listener->backlog) {
    drop(cm.ports, *event.request, "backlog_full",
         "the backlog of the listener on {} is full: dropped the connection request from {}");
    return;
  }
  auto record = make_event(*listener, RDMA_CM_EVENT_CONNECT_REQUEST);
  const auto said = numbers_from(mpa::FrameKind::kRequest, event.offer, event.private_data);
  set_private_data(*record, record->abi.param.conn, std::move(event.private_data));
  auto child = make_child(*listener, local, cm.ports.from_tcp(event.request->peer()));
  if (cm.persona == Persona::kRoce) show_path_as_ib(*child);
  child->request = std::move(event.request);
  child->numbers = said.numbers;
  child->peer_sends_numbers = said.are_programs;
  show(said.numbers, cm.persona == Persona::kRoce, record->abi.param.conn);
  set_child(*record, *listener, std::move(child));
  queue_request(cm, std::move(record), port_of(reinterpret_cast<const sockaddr&>(local)));
  ++listener->waiting_requests;
}

/// Allocates the rdma_cm event that the id will get for `event`.
std::list<CmEnding> make_record(CmId& id, const net::CmEvent& event) {
  const auto outcome = outcome_of(event, id);
  std::list<CmEnding> out;
  out.emplace_back().event = make_event(id, outcome.type, outcome.status);
  return out;
}

/// Fills `record`, which is an ESTABLISHED event, with the attributes of the connection, and stores
/// the attributes that ibv_query_qp() returns.
/// [RCM-175, RCM-176, RCM-183, RCM-184, RCM-185, RCM-186, RCM-187, RCM-188]
void describe_connection(CmId& id, RcQp& qp, const net::Address& local, CmEventRecord& record) {
  const bool as_roce = id.cm.persona == Persona::kRoce;
  show(id.numbers, as_roce, record.abi.param.conn);
  {
    const std::lock_guard lock(qp.mutex);
    const auto show_one = [&qp](int bit, std::uint8_t& attribute, std::uint8_t value) {
      if ((qp.said & bit) == 0) attribute = value;
    };
    ibv_qp_attr& shown = qp.attributes;
    show_one(IBV_QP_MAX_DEST_RD_ATOMIC, shown.max_dest_rd_atomic, id.numbers.responder_resources);
    if (as_roce) {
      show_one(IBV_QP_RETRY_CNT, shown.retry_cnt, id.numbers.retry_count);
      show_one(IBV_QP_RNR_RETRY, shown.rnr_retry, id.numbers.rnr_retry_count);
    }
  }
  if (local.port == 0) return;  // The core had too little memory to report the addresses.
  record.connected = qp.core->num();
  record.source = id.cm.ports.from_tcp(local);
  id.own_port = port_of(reinterpret_cast<const sockaddr&>(*record.source));
}

/// Changes the state of the id, and fills `record` with what the program gets to know of `event`.
/// [RCM-125, RCM-161, RCM-172, RCM-173, RCM-182]
void describe_event(CmId& id, RcQp& qp, net::CmEvent& event, CmEventRecord& record) noexcept {
  const bool established = event.type == Type::kEstablished;
  (void)id.life.step(established ? IdEvent::kEstablished : IdEvent::kOver);
  if (established) {
    id.numbers =
        agreed(id.numbers, numbers_from(mpa::FrameKind::kReply, event.offer, event.private_data));
    // The server's core may permit more Reads than its program.
    (void)qp.core->set_ord(id.numbers.initiator_depth);
    describe_connection(id, qp, event.local, record);
  }
  set_private_data(record, record.abi.param.conn, std::move(event.private_data));
}

/// Queues the event in `made`, or puts it into Cm::endings. dispatch_endings() then queues it when
/// the program has polled the completions of its receives, or when kTimeout has passed.
void report(const CmId& id, const RcQp& qp, Reaction::Report when,
            std::list<CmEnding>& made) noexcept {
  CmEnding& end = made.front();
  if (when == Reaction::Report::kNow) return queue_event(std::move(end.event));
  end.own_port = id.own_port;
  end.qp_num = qp.core->num();
  end.at_latest = Clock::now() + kTimeout;
  id.cm.endings.splice(id.cm.endings.end(), made);
}

/// Returns whether the program has not polled the completions of all receives that succeeded.
bool has_unpolled(const RcQp& qp) {
  return verbs::CompletionQueuePort::has_success(*qp.core->init().recv_cq, qp.core->num());
}

/// Logs the event, and notes that the peer left without an error.
void note_event(CmId& id, RcQp& qp, const net::CmEvent& event, bool is_left) {
  log_outcome(id, qp, event);
  // An rsocket posts messages that its program does not know of (credits, shutdown).
  if (!is_left || id.is_rsocket) return;
  note_left(qp, id.cm.ports.describe(id.cm.ports.to_tcp(id.destination())));
}

/// Returns whether accept_request() has already queued ESTABLISHED for the connection.
bool is_accepted(RcQp& qp) {
  const std::lock_guard lock(qp.mutex);
  return qp.link == LinkState::kByCm;
}

/// Handles an event of the connection of `qp`. Call with Core's queue pairs locked, so that neither
/// `qp` nor its id is destroyed.
/// [RCM-2, RCM-200, RCM-330, RCM-336]
void happened(Cm& cm, Core& core, RcQp& qp, net::CmEvent& event) {
  const bool established = event.type == Type::kEstablished;
  if (established && is_accepted(qp)) return;
  std::unique_lock lock(cm.mutex);
  const auto it = cm.by_qp.find(event.qp_num);
  if (it == cm.by_qp.end()) {
    lock.unlock();
    qp_announce(qp, core.service<OutOfBand>().happened(qp, event));
    return;
  }
  CmId* const id = it->second;
  const bool is_left = leaves(qp, event);
  // Allocates the events before any state changes, because the caller repeats the whole call if
  // memory is insufficient.
  std::list<CmEnding> made;
  if (id != nullptr) made = make_record(*id, event);
  // Changes the state of the queue pair before queueing the event, so that a program that reads the
  // event sees the new state.
  if (established) {
    qp_connected(qp);
  } else {
    qp_disconnected(qp);
  }
  const Reaction reaction = react({.type = event.type,
                                   .has_id = id != nullptr,
                                   .disconnect_wanted = id != nullptr && id->disconnect_wanted,
                                   .has_unpolled = !established && has_unpolled(qp)});
  if (reaction.is_last) cm.by_qp.erase(it);
  if (id != nullptr) {
    (void)guarded([&] { note_event(*id, qp, event, is_left); });
    describe_event(*id, qp, event, *made.front().event);
    report(*id, qp, reaction.report, made);
  }
  if (reaction.announce)
    net::insist([&] { verbs::QueuePairPort::announce(*qp.core, *reaction.announce); });
  if (reaction.closes && !close_connection(qp, false)) (void)qp.core->abort();
}

// Closes a channel that the program has destroyed, and frees it later. rping destroys its channel
// and exits while one of its threads is in rdma_get_cm_event(), or is about to call that function
// again. With the kernel, this thread blocks until the process ends. To behave in the same way,
// retire() keeps the last kKept channels, and never frees a channel on which a thread waits.
// [RCM-17, RCM-18]
void retire(EventChannel& channel) {
  constexpr std::size_t kKept = 8;
  channel.events.close();
  Cm& all = cm();
  const std::lock_guard lock(all.mutex);
  auto& retired = all.retired;
  net::insist([&] { retired.push_back(&channel); });
  if (retired.size() <= kKept) return;
  EventChannel* const oldest = retired.front();
  retired.pop_front();
  if (!oldest->events.is_awaited()) delete oldest;
}

void dispatch(Cm& cm, Core& core, net::CmEvent& event) {
  const int code = guarded([&] {
    if (event.type != Type::kConnectRequest) {
      net::insist(
          [&] { core.with_qp(event.qp_num, [&](RcQp& qp) { happened(cm, core, qp, event); }); });
    } else if (!core.service<OutOfBand>().takes_request(event)) {
      requested(cm, event);
    }
    return 0;
  });
  if (code == 0) return;
  // Drops the connection request and does not reject it, so that the peer may try again.
  if (event.request != nullptr) event.request->drop();
  (void)guarded([&] {
    log_event({.level = verbs::LogLevel::kError,
               .event = "event_lost",
               .message = fmt::format("a connection event was lost: {}",
                                      std::generic_category().message(code))});
  });
}

/// Moves the events that no longer need to wait from Cm::endings to the queues of their channels.
/// Returns the earliest deadline of the events that remain in Cm::endings. Only the dispatcher
/// calls this function. Another thread removes an event from Cm::endings only when it destroys the
/// id of that event.
/// [RCM-338]
Clock::time_point dispatch_endings(Cm& cm, Core& core) {
  std::vector<verbs::QpNum> waiting;
  {
    const std::lock_guard lock(cm.mutex);
    for (const CmEnding& end : cm.endings) waiting.push_back(end.qp_num);
  }
  const auto unpolled = [&](verbs::QpNum num) {
    bool out = false;
    core.with_qp(num, [&](RcQp& qp) {
      // Sets is_watched before it calls has_unpolled(), so that a later poll calls recheck().
      qp.recv_cq->is_watched.store(true);
      out = has_unpolled(qp);
    });
    return out;
  };
  std::erase_if(waiting, [&](verbs::QpNum num) { return !unpolled(num); });
  std::vector<verbs::QpNum> reported;
  Waits decided;
  {
    const std::lock_guard lock(cm.mutex);
    std::vector<PendingEvent> events;
    for (const CmEnding& end : cm.endings) {
      events.push_back({.own_port = end.own_port,
                        .is_request = end.is_request(),
                        .has_unpolled = std::ranges::count(waiting, end.qp_num) != 0,
                        .at_latest = end.at_latest});
    }
    decided = waits_of(events, Clock::now());
    reported.reserve(events.size());
    std::erase_if(cm.endings, [&, waits = decided.waits.begin()](CmEnding& end) mutable {
      if (*waits++) return false;
      queue_event(std::move(end.event));
      if (end.qp_num != 0) reported.push_back(end.qp_num);
      return true;
    });
  }
  for (const auto num : reported) net::insist([&] { announce_all(core, num); });
  return decided.next;
}

/// Logs why the connection ended. Called before the program gets a failed completion, because the
/// program may exit as soon as it sees the failure. Call with Core's queue pairs locked.
void tell_end_early(Cm& cm, Core& core, RcQp& qp, bool flushed) {
  bool is_connected = false;
  {
    const std::lock_guard lock(qp.mutex);
    if (!qp.left_by.empty()) return log_left(qp);
    if (flushed || qp.end_reported) return;
    is_connected = qp.is_connected();
  }
  if (verbs::has_stopped_sends(qp.sender())) return;  // The connection goes on.
  const auto event = core.rnic().stream_ended(qp.sender());
  if (!event) {
    // If there was a connection, its event is already in the dispatcher's queue. unlogged_ends()
    // delays the exit of the process until the dispatcher has logged why the stream ended. If the
    // dispatcher has not even handled the beginning, the counters show that there was a connection.
    if (!is_connected && core.rnic().counters(qp.sender()).fpdus_sent == 0) return;
    return core.unlogged_ends().seen(qp.num());
  }
  const std::lock_guard lock(cm.mutex);
  const auto it = cm.by_qp.find(qp.num());
  if (it == cm.by_qp.end()) {
    core.service<OutOfBand>().log_end(qp, *event);
  } else if (it->second != nullptr) {
    log_outcome(*it->second, qp, *event);
  }
  qp.end_reported = true;
}

class CmEvents final : public Service {
 public:
  explicit CmEvents(Core& core) : core_(core) {}

  bool takes(net::CmEvent& event) override {
    dispatch(cm_, core_, event);
    return true;
  }
  int fd() const override { return changed_.fd(); }
  void check() override {
    while (changed_.take()) {
    }
  }
  TimePoint finish_turn() override { return dispatch_endings(cm_, core_); }
  void recheck() override { changed_.signal(); }
  void completion_failed(verbs::QpNum num, bool flushed) override {
    core_.with_qp(num, [&](RcQp& qp) { tell_end_early(cm_, core_, qp, flushed); });
  }
  void qp_reset(verbs::QpNum num) override {
    if (settle_ending(num)) recheck();
  }
  void qp_destroyed(verbs::QpNum num) override {
    if (forget_qp(num)) recheck();
  }

 private:
  Core& core_;
  Cm& cm_ = cm();
  net::EventFd changed_;  ///< signaled when an event in Cm::endings may be ready to be queued
};

}  // namespace

std::unique_ptr<Service> make_cm_events(Core& core) { return std::make_unique<CmEvents>(core); }

// [RCM-120, RCM-127, RCM-145]
int accept_request(CmId& id, RcQp& qp, const std::vector<std::byte>& private_data,
                   std::unique_ptr<CmEventRecord>* held) {
  const std::lock_guard lock(id.cm.mutex);
  auto record = make_event(id, RDMA_CM_EVENT_ESTABLISHED);
  const auto error = id.request->accept(*qp.core, id.numbers.responder_resources,
                                        id.numbers.initiator_depth, private_data);
  if (error) return refused(error);
  (void)id.life.step(IdEvent::kEstablished);
  qp_connected(qp);
  (void)guarded([&] {
    net::CmEvent established;
    established.type = Type::kEstablished;
    log_outcome(id, qp, established);
  });
  net::insist([&] { describe_connection(id, qp, id.request->local(), *record); });
  if (held != nullptr) {
    *held = std::move(record);
    return 0;
  }
  queue_event(std::move(record));
  net::insist([&] { verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kUnflushed); });
  return 0;
}

void announce_all(Core& core, verbs::QpNum num) {
  core.with_qp(num,
               [](RcQp& qp) { verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAll); });
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

// [RCM-117]
std::unique_ptr<CmId> make_child(const CmId& listener, const sockaddr_storage& own,
                                 const sockaddr_storage& peer) {
  auto child = std::make_unique<CmId>();
  child->abi.ps = listener.abi.ps;
  child->abi.qp_type = listener.abi.qp_type;
  child->abi.channel = listener.abi.channel;
  child->abi.route.addr.src_storage = own;
  child->abi.route.addr.dst_storage = peer;
  (void)child->life.step(IdEvent::kRequest);
  child->passive = true;
  use_device(*child);
  return child;
}

// [RCM-115]
void set_child(CmEventRecord& event, CmId& listener, std::unique_ptr<CmId> child) {
  event.abi.id = &child->abi;
  event.abi.listen_id = &listener.abi;
  event.child = std::move(child);
}

// [RCM-9]
void queue_event(std::unique_ptr<CmEventRecord> event) noexcept {
  CmId& owner = *event->owner;
  ++owner.outstanding;
  owner.channel().events.push_made(event.release()->place);
}

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  return guarded_pointer<rdma_event_channel>([] {
    (void)cm();  // makes the Cm now, because rdma_destroy_event_channel() uses it and must not fail
    return &(new EventChannel)->abi;
  });
}

void rdma_destroy_event_channel(rdma_event_channel* channel) { retire(EventChannel::of(channel)); }

// Also updates fields of rdma_cm_id and ibv_qp that the program may access at any time without a
// lock. This is allowed here, because this function runs in a thread of the program.
// [RCM-14, RCM-117]
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (channel == nullptr || event == nullptr) return minus_one(EINVAL);
  const auto record = EventChannel::of(channel).events.get();
  if (!record) return minus_one(record.error());
  CmId& owner = *(*record)->owner;
  if (auto child = std::move((*record)->child)) {
    --owner.waiting_requests;
    // From here on, the program owns `child`, the new id. The id gets the channel of this call,
    // because the listener may have moved to another channel since the request arrived.
    child->abi.channel = channel;
    child->abi.context = owner.abi.context;
    if (owner.abi.pd != nullptr) child->abi.pd = owner.abi.pd;
    (void)child.release();
  }
  *event = &(*record)->abi;
  if ((*event)->event == RDMA_CM_EVENT_DISCONNECTED && owner.alive() && owner.core != nullptr) {
    owner.core->with_qp(owner.qp_num, [](RcQp& qp) { note_left(qp, {}); });
  }
  if (const auto& source = (*record)->source) {
    owner.abi.route.addr.src_storage = *source;
    owner.bound.reset();  // The socket of the connection now holds the port.
    if (owner.alive()) owner.core->with_qp((*record)->connected, show_connected);
  }
  return 0;
}

// [RCM-42, RCM-43, RCM-44]
int rdma_ack_cm_event(rdma_cm_event* event) {
  if (event == nullptr) return minus_one(EINVAL);
  const std::unique_ptr<CmEventRecord> record(&CmEventRecord::of(event));
  CmId& owner = *record->owner;
  const std::lock_guard lock(owner.cm.mutex);
  --owner.outstanding;
  ++owner.acknowledged;
  owner.cm.acknowledged.notify_all();
  return 0;
}

}  // extern "C"

}  // namespace iwarp::rdma_core
