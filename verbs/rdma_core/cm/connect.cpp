// SPDX-License-Identifier: Apache-2.0
// Connects an rdma_cm_id, accepts and rejects requests, and ends connections. The outcome of each
// operation is reported in an event (cm/events.cpp). A call that is not allowed in the current
// state of the id fails at once.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "cm/datagrams.hpp"
#include "cm/events.hpp"
#include "cm/id.hpp"
#include "device/limits.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "process/call_site.hpp"
#include "process/connection_options.hpp"
#include "process/refusal.hpp"
#include "qp/bring_up.hpp"
#include "qp/peer_timeouts.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;

// How long end_connection() waits for outstanding requests. The limit is generous, because the
// peer's thread may have to wait for a processor.
constexpr auto kGrace = 200ms;
constexpr auto kPause = 500us;

using PrivateData = std::vector<std::byte>;

// Maximum sizes of private data with RoCE, from the manual pages of rdma_connect() and
// rdma_accept(), and from the kernel's ib_cm.h.
constexpr std::size_t kMostOfConnect = 56;
constexpr std::size_t kMostOfAccept = 196;
constexpr std::size_t kMostOfReject = 148;

/// Returns EINVAL after refused() if `param` asks for more outstanding Reads than the device has.
/// [RCM-177, RCM-178, RCM-179]
int check_reads(const CmId& id, const rdma_conn_param* param) {
  if (param == nullptr || id.abi.verbs == nullptr) return 0;
  const auto& limits = device_of(id).limits();
  const auto is_above = [](std::uint8_t number, int most) {
    return number != RDMA_MAX_RESP_RES && number > most;
  };
  if (!is_above(param->responder_resources, limits.max_qp_rd_atom) &&
      !is_above(param->initiator_depth, limits.max_qp_init_rd_atom)) {
    return 0;
  }
  return refused(
      EINVAL,
      "responder_resources {}, initiator_depth {}: must be at most {} and {}, or 255 for "
      "the maximum of the device",
      param->responder_resources, param->initiator_depth, limits.max_qp_rd_atom,
      limits.max_qp_init_rd_atom);
}

/// Returns the number of outstanding Reads that the program requests in the field `number` of
/// `param`. If the field has the value RDMA_MAX_RESP_RES (which equals RDMA_MAX_INIT_DEPTH), or if
/// `param` is null, returns `otherwise`, or the maximum of the device if that is less.
/// [RCM-150, RCM-180, RCM-181]
std::uint8_t reads(const CmId& id, const rdma_conn_param* param,
                   std::uint8_t rdma_conn_param::* number, std::uint8_t otherwise) {
  static_assert(RDMA_MAX_RESP_RES > kMaxReads && RDMA_MAX_RESP_RES == RDMA_MAX_INIT_DEPTH);
  const bool is_chosen = param != nullptr && param->*number != RDMA_MAX_RESP_RES;
  const int most = device_of(id).limits().max_qp_rd_atom;
  return static_cast<std::uint8_t>(std::min<int>(is_chosen ? param->*number : otherwise, most));
}

/// Returns the numbers that this end sends to its peer: those in `param`, or `otherwise`.
/// [RCM-189]
CmNumbers numbers_of(const CmId& id, const rdma_conn_param* param, const CmNumbers& otherwise) {
  CmNumbers out{.responder_resources = reads(id, param, &rdma_conn_param::responder_resources,
                                             otherwise.responder_resources),
                .initiator_depth =
                    reads(id, param, &rdma_conn_param::initiator_depth, otherwise.initiator_depth)};
  if (param != nullptr) {
    out.retry_count = std::min(param->retry_count, kMostRetries);
    out.rnr_retry_count = std::min(param->rnr_retry_count, kRnrForEver);
    out.flow_control = param->flow_control != 0;
    out.srq = param->srq != 0;
    out.qp_num = param->qp_num;
  }
  if (id.abi.qp != nullptr) {
    out.srq = id.abi.qp->srq != nullptr;
    out.qp_num = id.abi.qp->qp_num;
  }
  return out;
}

/// Returns a copy of the private data.
/// [RCM-132, RCM-168, RCM-169]
PrivateData private_data(const void* data, std::uint8_t length) {
  const auto* octets = static_cast<const std::byte*>(data);
  return data != nullptr ? PrivateData{octets, octets + length} : PrivateData{};
}

/// Returns the data of rdma_addrinfo::ai_connect, if rdma_create_ep() has stored them in the id,
/// and then those of `param`. [RCM-246]
PrivateData private_data(const CmId& id, const rdma_conn_param* param) {
  PrivateData out = id.connect_data;
  if (param == nullptr) return out;
  const PrivateData own = private_data(param->private_data, param->private_data_len);
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

std::size_t data_size(const CmId& id, const rdma_conn_param* param) {
  return private_data(id, param).size();
}

/// Returns the number of the queue pair that rdma_create_qp() has made for the id. If there is
/// none, returns the number that the program passes in `param`, or 0 if `param` is null. As in the
/// kernel's CM for InfiniBand and RoCE, the number need not be that of a connection: the peer is
/// told this number, and a stand-in carries the connection.
/// [RCM-129, RCM-130, RCM-131, RCM-151]
verbs::QpNum queue_pair(CmId& id, const rdma_conn_param* param) {
  if (id.abi.qp != nullptr) return id.abi.qp->qp_num;
  const verbs::QpNum named = param != nullptr ? param->qp_num : 0;
  const bool stands_in = id.cm.persona == Persona::kRoce && named != 0 && id.abi.verbs != nullptr &&
                         !id.core->with_qp(named, [](RcQp&) {});
  if (!stands_in) return named;
  make_stand_in(id);
  return id.stand_in->qp_num;
}

/// Stops waiting for the peer of a queue pair that the program has moved to RTR itself, with the
/// number from CONNECT_REQUEST. From here on, the CM connects this queue pair.
void take_over(CmId& id, verbs::QpNum num) {
  if (id.core == nullptr) return;
  // Only the lock of with_qp() keeps the queue pair alive, and give_up() waits for the dispatcher,
  // which may need that lock. So the dispatcher pauses first.
  const auto pause = id.core->pause_dispatcher();
  id.core->with_qp(num, [](RcQp& qp) {
    {
      const std::lock_guard lock(qp.mutex);
      if (qp.link != LinkState::kAwaited) return;
    }
    qp.bring_up.give_up(qp);
    const std::lock_guard lock(qp.mutex);
    qp.link_step(LinkEvent::kOver);
  });
}

/// Registers the id to get the events of the queue pair `num`, changes the state of the id by the
/// event `how`, and stores `numbers`. Returns false if the state of the id does not allow `how`, if
/// `num` is 0, or if another id already gets the events of the queue pair.
bool start(CmId& id, verbs::QpNum num, IdEvent how, const CmNumbers& numbers) {
  const std::lock_guard lock(id.cm.mutex);
  const bool may = id.life.allows(how) && num != 0;
  if (!may || !id.cm.by_qp.try_emplace(num, &id).second) return false;
  (void)id.life.step(how);
  id.qp_num = num;
  id.has_qp = id.abi.qp != nullptr;
  id.numbers = numbers;
  return true;
}

/// Returns EINVAL after refused(): why start() has returned false.
/// [RCM-123, RCM-124, RCM-128, RCM-146, RCM-147, RCM-148]
int refuse_start(const CmId& id, verbs::QpNum num, IdEvent how, const char* needs) {
  const std::lock_guard lock(id.cm.mutex);
  if (!id.life.allows(how)) return refuse_in_state(id, needs);
  if (num != 0) return refused(EINVAL, "another id already uses queue pair {:#x}", num);
  return refused(EINVAL,
                 "the id has no queue pair (call rdma_create_qp() first, or set qp_num in "
                 "rdma_conn_param)");
}

void undo(CmId& id, IdEvent how) {
  const std::lock_guard lock(id.cm.mutex);
  (void)id.life.step(how);
  id.cm.by_qp.erase(id.qp_num);
}

/// Sets how long the connection waits for its peer. If this end has no posted receive, a Send of
/// the peer waits: without limit if rnr_retry_count is 7 or `param` is null, and otherwise for at
/// most IWARP_RECEIVE_HOLD. The client's retry_count and RDMA_OPTION_ID_ACK_TIMEOUT together limit
/// the wait for a peer that does not respond.
/// [RCM-193, RCM-194, RCM-317]
void set_timeouts(RcQp& qp, const CmId& id, const rdma_conn_param* param) {
  const std::lock_guard lock(qp.mutex);
  qp.cm_rnr_retry = param == nullptr ? kRnrForEver : param->rnr_retry_count;
  if (id.ack_timeout) {
    qp.attributes.timeout = *id.ack_timeout;
    qp.attributes.retry_cnt = id.numbers.retry_count;
    qp.said |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT;
  }
  set_peer_timeouts(qp);
}

/// Calls `connect` with the queue pair, and returns its result: 0 or an errno. Holds completions
/// back until the event that reports the outcome is queued, so that the program can read that event
/// before it polls a completion.
template <typename Connect>
int begin(CmId& id, verbs::QpNum num, const rdma_conn_param* param, Connect connect) {
  int code = 0;
  const bool is_there = id.core->with_qp(num, [&](RcQp& qp) {
    set_timeouts(qp, id, param);
    verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kNothing);
    code = connect(qp);
    if (code != 0) verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAll);
  });
  if (is_there) return code;
  return refused(
      EINVAL,
      "no queue pair of type RC has the number {:#x} (create the queue pair before this call)",
      num);
}

net::ConnectOptions options_for(CmId& id, const rdma_conn_param* param, const CmNumbers& numbers) {
  auto out = connect_options();
  out.connection.startup.ird = numbers.responder_resources;
  out.connection.startup.ord = numbers.initiator_depth;
  out.private_data = private_data(id, param);
  if (out.connection.startup.extensions && out.private_data.size() <= kMostBeforeNumbers) {
    out.private_trailer = encode(mpa::FrameKind::kRequest, numbers);
  }
  if (id.bound) out.local = id.cm.ports.to_tcp(id.source());
  return out;
}

// [RCM-5, RCM-122, RCM-137]
int connect(CmId& id, const rdma_conn_param* param) {
  if (is_datagram(id)) return connect_datagrams(id, param);
  if (!id.alive()) return EINVAL;
  if (const int code = check_reads(id, param)) return code;
  const std::size_t size = data_size(id, param);
  if (const int code = check_private_data(id, "rdma_connect()", kMostOfConnect, size)) return code;
  const verbs::QpNum num = queue_pair(id, param);
  const CmNumbers numbers = numbers_of(id, param, {});
  const auto options = options_for(id, param, numbers);
  if (!start(id, num, IdEvent::kConnect, numbers)) {
    return refuse_start(
        id, num, IdEvent::kConnect,
        "call rdma_resolve_route() and wait for RDMA_CM_EVENT_ROUTE_RESOLVED first");
  }
  const int code = begin(id, num, param, [&](RcQp& qp) {
    return refused(id.core->rnic().connect(*qp.core, id.cm.ports.to_tcp(id.destination()), options,
                                           id.core->cm_channel()));
  });
  if (code != 0) {
    undo(id, IdEvent::kConnectFailed);
    return code;
  }
  return wait_for_event(id);
}

/// Queues ESTABLISHED after the delay that the hooks choose. Completions can be polled before it.
void report_late(Core& core, verbs::QpNum num, std::unique_ptr<CmEventRecord> established) {
  const auto announce = [&] {
    net::insist([&] {
      core.with_qp(num, [](RcQp& qp) {
        verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kUnflushed);
      });
    });
  };
  while (core.hooks()->delays_events()) announce();
  {
    const std::lock_guard lock(cm().mutex);
    queue_event(std::move(established));
  }
  announce();
}

/// Accepts the request. As RoCE, the hooks may delay ESTABLISHED, also beyond the first
/// completions, because an adapter reports it only when the client's RTU or first message arrives.
/// The dispatcher pauses meanwhile, so that no other event of the connection comes before it.
int begin_accept(CmId& id, verbs::QpNum num, const rdma_conn_param* param,
                 const PrivateData& data) {
  Core& core = *id.core;
  const bool is_held = core.hooks() != nullptr && id.cm.persona == Persona::kRoce;
  std::unique_lock<std::recursive_mutex> pause;
  if (is_held) pause = core.pause_dispatcher();
  std::unique_ptr<CmEventRecord> held;
  const int code = begin(id, num, param, [&](RcQp& qp) {
    return accept_request(id, qp, data, is_held ? &held : nullptr);
  });
  if (code == 0 && is_held) report_late(core, num, std::move(held));
  return code;
}

// [RCM-6, RCM-149, RCM-152, RCM-174]
int accept(CmId& id, const rdma_conn_param* param) {
  if (is_datagram(id)) return accept_datagrams(id, param);
  if (!id.alive()) return EINVAL;
  if (const int code = check_reads(id, param)) return code;
  const std::size_t size = data_size(id, param);
  if (const int code = check_private_data(id, "rdma_accept()", kMostOfAccept, size)) return code;
  const verbs::QpNum num = queue_pair(id, param);
  take_over(id, num);
  const CmNumbers asked = id.numbers;
  CmNumbers own = numbers_of(id, param, asked);
  own.initiator_depth = std::min(own.initiator_depth, asked.initiator_depth);
  CmNumbers agreed = asked;
  agreed.responder_resources = own.responder_resources;
  agreed.initiator_depth = own.initiator_depth;
  if (!start(id, num, IdEvent::kAccept, agreed)) {
    return refuse_start(id, num, IdEvent::kAccept,
                        "call rdma_accept() once, with the id of an RDMA_CM_EVENT_CONNECT_REQUEST");
  }
  PrivateData data = private_data(id, param);
  if (id.peer_sends_numbers && data.size() <= kMostBeforeNumbers) {
    const auto said = encode(mpa::FrameKind::kReply, own);
    data.insert(data.end(), said.begin(), said.end());
  }
  if (const int code = begin_accept(id, num, param, data)) {
    undo(id, IdEvent::kAcceptFailed);
    id.numbers = asked;
    return code;
  }
  return wait_for_event(id);
}

// [RCM-153, RCM-154, RCM-157, RCM-158, RCM-159]
int reject(CmId& id, const void* data, std::uint8_t length) {
  if (is_datagram(id)) return reject_datagrams(id, data, length);
  if (!id.alive()) return EINVAL;
  const std::size_t size = data != nullptr ? length : 0;
  if (const int code = check_private_data(id, "rdma_reject()", kMostOfReject, size)) return code;
  std::unique_ptr<net::ConnectRequest> request;
  {
    const std::lock_guard lock(id.cm.mutex);
    if (!id.life.step(IdEvent::kReject)) {
      return refuse_in_state(
          id, "call rdma_reject() once, with the id of an RDMA_CM_EVENT_CONNECT_REQUEST");
    }
    request = std::move(id.request);
  }
  log_connection("rejected", "rejected " + id.cm.ports.describe(request->peer()),
                 {{"peer", id.cm.ports.describe(request->peer())}});
  // Ignores the error that reject() returns if the peer has disconnected.
  (void)request->reject(private_data(data, length));
  return 0;
}

/// Disconnects the id. As in the kernel, the call also succeeds if the id is still connecting, or
/// if its connection is already over.
/// [RCM-4, RCM-335, RCM-337]
int disconnect(CmId& id) {
  if (is_datagram(id)) return EINVAL;  // A datagram id has no connection.
  if (!id.alive()) return EINVAL;
  verbs::QpNum num = 0;
  {
    const std::lock_guard lock(id.cm.mutex);
    switch (id.life.state()) {
      case IdState::kConnecting:
        id.disconnect_wanted = true;
        return 0;
      case IdState::kConnected:
        num = id.qp_num;
        break;
      case IdState::kEnded:
      case IdState::kRequested:
        break;
      default:
        return EINVAL;
    }
    if (num == 0 && id.outstanding == (id.abi.event != nullptr ? 1U : 0U)) return 0;
  }
  if (num != 0) {
    if (Hooks* const hooks = id.core->hooks()) hooks->disconnecting(num);
    end_connection(*id.core, num);
  }
  return wait_for_event(id);
}

// [RCM-140, RCM-141, RCM-142]
int establish(CmId& id) {
  const std::lock_guard lock(id.cm.mutex);
  if (id.abi.qp != nullptr) {
    return refused(EINVAL,
                   "rdma_create_qp() created the queue pair of the id, so the connection is "
                   "established without this call (do not call rdma_establish())");
  }
  if (id.life.is(IdState::kConnected)) return 0;
  return refuse_in_state(id, "wait for RDMA_CM_EVENT_CONNECT_RESPONSE first");
}

}  // namespace

// Waits up to kGrace for outstanding requests to finish. Then flushes the remaining requests, as
// the kernel's drivers do when a program disconnects. Without the flush, a peer that has no
// receives for these requests would not see the end of the connection. Without the wait, this
// function would flush requests that an adapter would already have finished.
// [RCM-331, RCM-332, RCM-333]
void end_connection(Core& core, verbs::QpNum num) {
  const auto until = std::chrono::steady_clock::now() + kGrace;
  const auto end = [&](RcQp& qp) {
    const bool under_way = qp.core->query().send_outstanding != 0;
    if (under_way && std::chrono::steady_clock::now() < until) return false;
    if (!close_connection(qp, under_way)) return false;
    // The program may read ibv_qp::state at any time without a lock. This function may nevertheless
    // write it, because it runs in one of the program's own threads.
    if (qp.state.load() == IBV_QPS_ERR) qp.abi.qp_base.state = IBV_QPS_ERR;
    return true;
  };
  for (;;) {
    bool is_over = true;
    core.with_qp(num, [&](RcQp& qp) { is_over = end(qp); });
    if (is_over) return;
    std::this_thread::sleep_for(kPause);
  }
}

extern "C" {

int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  const CallSite here(__builtin_return_address(0), "rdma_connect");
  return cm_result([&] { return connect(CmId::of(id), param); });
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  const CallSite here(__builtin_return_address(0), "rdma_accept");
  return cm_result([&] { return accept(CmId::of(id), param); });
}

int rdma_reject(rdma_cm_id* id, const void* private_data, std::uint8_t length) {
  const CallSite here(__builtin_return_address(0), "rdma_reject");
  return cm_result([&] { return reject(CmId::of(id), private_data, length); });
}

/// Does the same as rdma_reject(), because iWARP has no vendor options (ECE) that could be the
/// reason for a rejection.
int rdma_reject_ece(rdma_cm_id* id, const void* private_data, std::uint8_t length) {
  const CallSite here(__builtin_return_address(0));
  return rdma_reject(id, private_data, length);
}

// [RCM-232, RCM-233]
int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (id->qp != nullptr || ece == nullptr) return minus_one(EINVAL);
  *ece = {};
  return 0;
}

/// Succeeds only if `ece` contains no options (`vendor_id` 0), because ibv_query_ece() returns
/// none.
/// [RCM-230, RCM-231]
int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  const bool is_own = id != nullptr && id->qp == nullptr;
  if (!is_own || ece == nullptr || ece->comp_mask != 0) return minus_one(EINVAL);
  if (ece->vendor_id == 0) return 0;
  return minus_one(refused("rdma_set_local_ece()", "iWARP has no vendor options to negotiate"));
}

int rdma_disconnect(rdma_cm_id* id) {
  return cm_result([&] {
    Core* const core = Core::existing();
    if (core != nullptr && core->hooks() != nullptr) core->hooks()->changing_state();
    return disconnect(CmId::of(id));
  });
}

/// Checks the state of the id. Sends nothing, because in iWARP the MPA Reply has already
/// established the connection. With IWARP_AS=roce, a program that has created its queue pair itself
/// calls this function after RDMA_CM_EVENT_CONNECT_RESPONSE.
int rdma_establish(rdma_cm_id* id) {
  const CallSite here(__builtin_return_address(0), "rdma_establish");
  return cm_result([&] { return establish(CmId::of(id)); });
}

/// Has no effect. With InfiniBand, a program calls this function to report that data arrived before
/// the last message of the handshake. This cannot happen over TCP.
/// [RCM-143, RCM-144]
int rdma_notify(rdma_cm_id* id, ibv_event_type /*event*/) {
  return id->verbs != nullptr ? 0 : minus_one(EINVAL);
}

}  // extern "C"

}  // namespace iwarp::rdma_core
