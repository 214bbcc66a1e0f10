// SPDX-License-Identifier: Apache-2.0
// Implements OutOfBand: decides which end connects, and which request belongs to which queue pair.
#include "bring_up/out_of_band.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "device/limits.hpp"
#include "device/port.hpp"
#include "iwarp/net/connect_advice.hpp"
#include "iwarp/net/other_end.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "process/connection_options.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {
namespace {

using Type = net::CmEvent::Type;
using verbs::Errc;

constexpr const char* kBringUp = "connecting a queue pair without rdma_cm";
constexpr const char* kBringUpElsewhere =
    "connecting a queue pair without rdma_cm to a peer on another host";
constexpr std::uint32_t kPsnMask = 0xFFFFFF;
// A value of AwaitedPeer::of_peer.rq_psn that accepts any PSN. It is used until the step to RTS.
// Only in that step does the program set the sq_psn of this end, which the peer's rq_psn must
// equal.
constexpr std::uint32_t kAnyPsn = UINT32_MAX;
// How long the core repeats a connect before it reports a failure. A connect fails while the peer
// is not ready: the peer resets the connection, or does not answer the request.
constexpr auto kTryFor = std::chrono::seconds(10);
// If the core reports the failure of a connect in less time than this, connect_again() does not
// start another one. If the peer were only not ready yet, the failure would be reported later.
constexpr auto kShortest = std::chrono::seconds(1);
// When a region is deregistered, a queue pair with posted requests may still be connecting. The
// deregistration waits for this queue pair, but only until kBringUpLimit has passed since its step
// to RTS.
constexpr auto kBringUpLimit = std::chrono::seconds(1);

std::uint32_t number_of(const RcQp& qp) { return qp.abi.qp_base.qp_num; }

bool is_psn(std::uint32_t said, std::uint32_t awaited) {
  return awaited == kAnyPsn || said == awaited;
}

/// Returns whether the request `said` contains the numbers and PSNs in `awaited`, which the program
/// has set for the peer of its queue pair. [IBV-473]
bool says(const OobRequest& said, const OobRequest& awaited) {
  return said.from == awaited.from && said.to == awaited.to && said.sq_psn == awaited.sq_psn &&
         is_psn(said.rq_psn, awaited.rq_psn);
}

/// Returns whether the request comes from the peer's address in `route`, and goes to this end's
/// address in `route`.
bool goes(const net::ConnectRequest& request, const OobRoute& route) {
  const auto from = ip_of(request.peer().host);
  const auto to = ip_of(request.local().host);
  return from && to && same_ip(*from, route.peer.ip) && same_ip(*to, route.own.ip);
}

/// Returns what is wrong with a request for a queue pair that awaits the peer `awaited`.
std::string difference(const OobRequest& said, const OobRequest& awaited) {
  if (said.from != awaited.from) {
    return fmt::format(
        "the request comes from queue pair {:#08x}, but dest_qp_num of this end is {:#08x}",
        said.from, awaited.from);
  }
  if (said.sq_psn != awaited.sq_psn) {
    return fmt::format("sq_psn of the peer is {:#x}, but rq_psn of this end is {:#x}", said.sq_psn,
                       awaited.sq_psn);
  }
  if (!is_psn(said.rq_psn, awaited.rq_psn)) {
    return fmt::format("rq_psn of the peer is {:#x}, but sq_psn of this end is {:#x}", said.rq_psn,
                       awaited.rq_psn);
  }
  return "the IP addresses of the request do not match dgid and sgid_index of this end";
}

/// Returns whether the peer of the queue pair disconnected without an error at either end, after
/// the connection was established or at least accepted.
bool has_only_left(RcQp& qp) {
  {
    const std::lock_guard lock(qp.mutex);
    if (!qp.is_by_hand() || qp.is_to_itself()) return false;
  }
  return !is_in_error(qp.core->query()) && qp.state.load() != IBV_QPS_ERR;
}

void log_not_found(const RcQp& qp, const std::string& why) {
  // Advice about a TCP address does not help, because the program has passed a GID and a QPN.
  const auto advice = net::connect_advice(Errc::kConnectionRefused);
  std::string_view reason = why;
  if (reason.ends_with(advice)) reason.remove_suffix(advice.size());
  log_refusal(
      fmt::format("queue pair {:#08x} cannot connect to its peer: {} (check that dgid and "
                  "dest_qp_num are the peer's GID and QPN, and that the peer's queue pair has "
                  "reached RTR)",
                  number_of(qp), reason));
}

/// Returns whether a connect that failed with `error` may have failed because the peer is not ready
/// yet.
bool may_come(const std::error_code& error) {
  return error == Errc::kTimedOut || error == Errc::kConnectionRefused ||
         error == Errc::kConnectionReset;
}

}  // namespace

// Numbers -----------------------------------------------------------------------------------------

std::uint32_t OutOfBand::take_number() {
  if (peers_ == OutOfBandPeers::kOff) return 0;
  const std::lock_guard lock(mutex_);
  return numbers_.take([this] {
    std::vector<OobAddress> out;
    for (Device* const device : devices()) {
      const Port own = device->port();
      if (own.error != 0) fail(own.error);
      for (const OobAddress& address : addresses_of(own, peers_)) {
        const auto same = [&](const OobAddress& known) { return same_place(known, address); };
        if (std::ranges::none_of(out, same)) out.push_back(address);
      }
    }
    return out;
  });
}

void OutOfBand::release_number(std::uint32_t number) {
  unanswered_.forget(number);
  forget(number);
  const std::lock_guard lock(mutex_);
  numbers_.release(number);
}

// States of the queue pair ------------------------------------------------------------------------

// [IBV-459, IBV-460]
int OutOfBand::ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) {
  AwaitedPeer awaited;
  const std::uint32_t number = number_of(qp);
  if (const int code = find_peer(qp.context.device.port(), attr, number, awaited)) return code;
  // [IBV-477]
  if (qp.abi.qp_base.qp_type == IBV_QPT_RC) awaited.ird = attr.max_dest_rd_atomic;
  const bool to_itself =
      attr.dest_qp_num == number && same_ip(awaited.route.own.ip, awaited.route.peer.ip);
  if (to_itself) {
    auto end = net::create_other_end(core_.rnic(), *qp.core);
    if (!end) return to_errno(end.error());
    qp.to_itself = std::move(*end);
    if (qp.is_uc()) verbs::make_unreliable(*qp.to_itself);
  }
  const std::lock_guard lock(mutex_);
  if (const int code = listen(number, awaited.route.own)) {
    qp.to_itself.reset();
    return code;
  }
  {
    const std::lock_guard qp_lock(qp.mutex);
    qp.link_step(LinkEvent::kPeerNamed);
  }
  verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAnswered);
  take_waiting(qp, awaited_[number] = awaited);
  return 0;
}

// [IBV-469, IBV-470, IBV-472]
int OutOfBand::find_peer(const Port& own, const ibv_qp_attr& attr, std::uint32_t number,
                         AwaitedPeer& out) const {
  if (peers_ == OutOfBandPeers::kOff) {
    return refused(kBringUp,
                   "IWARP_OOB is off (use rdma_cm, which perftest does with -R, or set "
                   "IWARP_OOB=loopback or IWARP_OOB=on)");
  }
  if (own.error != 0) {
    log_refusal(fmt::format("{}: cannot query the addresses of this host: {}", kBringUp,
                            std::generic_category().message(own.error)));
    return own.error;
  }
  const auto route = route_of(attr.ah_attr, own, peers_);
  if (!route) return refuse_route(attr.ah_attr, own, "to RTR: ah_attr.");
  if (QpNumbers::port_of(attr.dest_qp_num) == 0) {
    return refused(
        EINVAL,
        "to RTR: dest_qp_num {:#x}: no queue pair has this number (pass the qp_num of the "
        "peer's queue pair, in host byte order)",
        attr.dest_qp_num);
  }
  if (peers_ == OutOfBandPeers::kLoopback && !is_on_this_host(route->peer, own)) {
    return refused(
        kBringUpElsewhere,
        fmt::format(
            "{} is not an address of this host, and IWARP_OOB=loopback permits only peers on "
            "this host (use rdma_cm, which perftest does with -R, or set IWARP_OOB=on at "
            "both ends if both run on this stack)",
            to_text(route->peer)));
  }
  out.route = *route;
  out.of_peer = {
      .from = attr.dest_qp_num, .to = number, .sq_psn = attr.rq_psn & kPsnMask, .rq_psn = kAnyPsn};
  return 0;
}

int OutOfBand::listen(std::uint32_t number, const OobAddress& at) {
  return refused(numbers_.listen(number, at, [this](net::BoundSocket&& socket) {
    return core_.rnic().listen(std::move(socket), listen_options(), core_.cm_channel());
  }));
}

int OutOfBand::ready_to_send(RcQp& qp, std::uint32_t sq_psn) {
  const std::lock_guard lock(mutex_);
  AwaitedPeer* const awaited = find(number_of(qp));
  // The queue pair was connected, and the connection is already over. In this case the step to RTS
  // succeeds.
  if (awaited == nullptr) return 0;
  awaited->sends_since = Clock::now();
  awaited->of_peer.rq_psn = sq_psn & kPsnMask;
  awaited->step(PeerEvent::kToRts);
  take_waiting(qp, *awaited);
  return awaited->state == PeerState::kReady ? connect(qp, *awaited) : 0;
}

void OutOfBand::await_posted() {
  // The queue pairs that are in RTS and not connected, with the times of their steps to RTS.
  std::vector<std::pair<std::uint32_t, Clock::time_point>> coming_up;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, awaited] : awaited_) {
      if (awaited.sends_since && awaited.state != PeerState::kConnected) {
        coming_up.emplace_back(number, *awaited.sends_since);
      }
    }
  }
  for (const auto& [number, since] : coming_up) {
    bool has_posted = false;
    core_.with_qp(number,
                  [&](RcQp& qp) { has_posted = qp.sender().query().send_outstanding != 0; });
    if (!has_posted) continue;
    std::unique_lock lock(mutex_);
    settled_.wait_until(lock, since + kBringUpLimit, [&] {
      const AwaitedPeer* const awaited = find(number);
      return awaited == nullptr || awaited->state == PeerState::kConnected ||
             awaited->sends_since != since;
    });
  }
}

void OutOfBand::forget(std::uint32_t number) {
  {
    const std::lock_guard lock(mutex_);
    awaited_.erase(number);
    drop_requests_to(number);
  }
  settled_.notify_all();
}

void OutOfBand::give_up(RcQp& qp) {
  forget(number_of(qp));
  unanswered_.forget(number_of(qp));
  // Waits for the dispatcher twice: before cancel(), because the dispatcher may still be handling a
  // request for the queue pair, and after cancel(), because the dispatcher may still be handling an
  // event of the connection.
  core_.await_dispatcher();
  for (verbs::QueuePair* const end : qp.ends() | std::views::reverse) core_.rnic().cancel(*end);
  core_.await_dispatcher();
}

// Connecting --------------------------------------------------------------------------------------

int OutOfBand::connect(RcQp& qp, AwaitedPeer& awaited) {
  const OobRequest& peer = awaited.of_peer;
  auto options = connect_options();
  options.private_data =
      encode({.from = peer.to, .to = peer.from, .sq_psn = peer.rq_psn, .rq_psn = peer.sq_psn});
  options.local = net::Address{.host = to_text(awaited.route.own), .port = 0};
  options.connection.startup.ird = awaited.ird;
  options.retry_refused_for = kTryFor;
  const net::Address to{.host = to_text(awaited.route.peer), .port = QpNumbers::port_of(peer.from)};
  const auto error = core_.rnic().connect(qp.sender(), to, options, core_.cm_channel());
  if (!error) awaited.step(PeerEvent::kConnect);
  awaited.since = Clock::now();
  return to_errno(error);
}

// Starts another connect if the previous one failed because the peer was not ready, and if the
// queue pair has no outstanding requests. Returns whether another connect was started.
bool OutOfBand::connect_again(RcQp& qp, AwaitedPeer& awaited, const net::CmEvent& event) {
  awaited.step(PeerEvent::kConnectOver);
  const bool wait = event.type == Type::kConnectFailed && may_come(event.error) &&
                    Clock::now() - awaited.since > kShortest &&
                    qp.sender().query().send_outstanding == 0;
  return wait && connect(qp, awaited) == 0;
}

// If one of the requests in waiting_ is from the peer of this queue pair, accepts it.
void OutOfBand::take_waiting(RcQp& qp, AwaitedPeer& awaited) {
  for (auto it = waiting_.begin(); it != waiting_.end() && !awaited.has_peer();) {
    if (!says(it->says, awaited.of_peer) || !goes(*it->request, awaited.route)) {
      ++it;
      continue;
    }
    (void)take(qp, awaited, *it->request);
    it = waiting_.erase(it);
  }
}

// Accepts a request for the queue pair. If both ends have sent a request, and the request of this
// end wins, drops the peer's request. Returns false if the request was dropped, or if its initiator
// has disconnected.
bool OutOfBand::take(RcQp& qp, AwaitedPeer& awaited, net::ConnectRequest& request) {
  const bool crosses = awaited.state == PeerState::kConnects && !qp.is_to_itself();
  const auto& [peer, own, sq_psn, rq_psn] = awaited.of_peer;
  const bool own_counts =
      own != peer ? own < peer : precedes(awaited.route.own.ip, awaited.route.peer.ip);
  const bool idle = qp.core->state() == verbs::QpState::kIdle;
  if (!request.peer_waits() || (crosses && (own_counts || !idle))) {
    request.drop();
    return false;
  }
  if (crosses) {
    core_.rnic().cancel(*qp.core);
    awaited.step(PeerEvent::kConnectOver);
  }
  if (accept(qp, awaited, request)) awaited.step(PeerEvent::kAccept);
  if (awaited.state == PeerState::kReady) (void)connect(qp, awaited);
  return awaited.has_peer();
}

// Accepts the request. Returns false if its initiator has disconnected. If another error occurs,
// moves the queue pair to ERR and returns true.
bool OutOfBand::accept(RcQp& qp, const AwaitedPeer& awaited, net::ConnectRequest& request) {
  request.set_recognized();
  const auto error = request.accept(*qp.core, awaited.ird, kMaxReads);
  if (!error) return true;
  const std::string peer = to_string(request.peer());
  log_connection("accept_failed", fmt::format("{}: {}", peer, error.message()), {{"peer", peer}});
  if (error == Errc::kConnectionReset) return false;
  qp_disconnected(qp);
  verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAll);
  return true;
}

// Dispatching -------------------------------------------------------------------------------------

bool OutOfBand::takes_request(net::CmEvent& event) {
  const auto request = decode_oob_request(event.private_data);
  if (!request) return false;
  const auto port = event.request->local().port;
  bool taken = false;
  {
    const std::lock_guard lock(mutex_);
    if (!numbers_.is_own(port)) return false;
    taken = QpNumbers::port_of(request->to) == port && numbers_.is_taken(request->to);
  }
  taken = taken && core_.with_qp(request->to, [&](RcQp& qp) {
    const std::lock_guard lock(mutex_);
    offer(qp, {*request, std::move(event.request)});
  });
  if (!taken) event.request->drop();
  return true;
}

void OutOfBand::offer(RcQp& qp, Waiting&& waiting) {
  AwaitedPeer* const awaited = find(number_of(qp));
  // Stores the request, because the queue pair is not ready for it. If the queue pair never becomes
  // ready, the time limit of the MPA startup ends the request.
  if (awaited == nullptr || awaited->has_peer()) return keep(std::move(waiting));
  if (says(waiting.says, awaited->of_peer) && goes(*waiting.request, awaited->route)) {
    (void)take(qp, *awaited, *waiting.request);
    return;
  }
  // Logs only the first request, because the peer repeats it until its time is over. Logs no
  // request that the peer has given up, because its own queue pair has accepted another request
  // meanwhile.
  const bool is_given_up = waiting.request->peer().port == 0 || !waiting.request->peer_waits();
  if (!is_given_up && !std::exchange(awaited->other_logged, true)) {
    const std::string from = to_string(waiting.request->peer());
    log_event({.level = verbs::LogLevel::kWarning,
               .event = "other_peer",
               .message = fmt::format(
                   "queue pair {:#08x} does not accept the connection request from {}: {} (at each "
                   "end, pass the other end's qp_num, PSN and GID to ibv_modify_qp())",
                   number_of(qp), from, difference(waiting.says, awaited->of_peer)),
               .fields = {{"peer", from}, {"qp", number_of(qp)}}});
  }
  waiting.request->drop();
}

void OutOfBand::keep(Waiting&& waiting) {
  if (waiting_.size() == kMaxWaiting) {
    waiting_.front().request->drop();  // Drops the oldest request, whose initiator will retry.
    waiting_.pop_front();
  }
  waiting_.push_back(std::move(waiting));
}

void OutOfBand::drop_requests_to(std::uint32_t number) {
  std::erase_if(waiting_, [number](const Waiting& waiting) {
    if (waiting.says.to != number) return false;
    waiting.request->drop();
    return true;
  });
}

OutOfBand::AwaitedPeer* OutOfBand::find(std::uint32_t number) {
  const auto it = awaited_.find(number);
  return it != awaited_.end() ? &it->second : nullptr;
}

verbs::Announce OutOfBand::happened(RcQp& qp, const net::CmEvent& event) {
  bool unconnected = false;
  if (leaves(qp, event)) note_left(qp, to_string(event.peer));
  {
    const std::lock_guard lock(mutex_);
    AwaitedPeer* const awaited = find(number_of(qp));
    unconnected = awaited != nullptr && !awaited->has_peer();
    if (event.type == Type::kEstablished) {
      if (awaited != nullptr) awaited->step(PeerEvent::kEstablished);
    } else if (unconnected && connect_again(qp, *awaited, event)) {
      return verbs::Announce::kAnswered;
    }
  }
  if (event.type == Type::kEstablished) {
    qp_connected(qp);
    settled_.notify_all();
    return verbs::Announce::kAnswered;
  }
  if (unconnected) {
    // Does not report an error before the program has posted requests for the peer, because the
    // peer may still connect.
    if (unanswered_.peer_unreachable(number_of(qp), event.why)) {
      return verbs::Announce::kAnswered;
    }
    // If the program has moved its queue pair to ERR itself, the set-up had to fail.
    if (qp.state.load() != IBV_QPS_ERR) log_not_found(qp, event.why);
  } else if (event.end) {
    log_end(qp, event);
  } else {
    log_connection("connection_over", event.why, {{"peer", to_string(event.peer)}});
  }
  {
    const std::lock_guard lock(mutex_);
    awaited_.erase(number_of(qp));
  }
  settled_.notify_all();
  if (!unconnected && has_only_left(qp) && unanswered_.peer_left(qp)) {
    qp_peer_departed(qp);
    return verbs::Announce::kAnswered;
  }
  qp_disconnected(qp);
  return verbs::Announce::kAll;
}

void OutOfBand::log_end(const RcQp& qp, const net::CmEvent& event) const {
  if (qp.end_reported) return;
  log_stream_end(*event.end, event.why, {{"peer", to_string(event.peer)}, {"qp", number_of(qp)}});
}

void OutOfBand::peer_never_connected(RcQp& qp, std::string why) {
  if (why.empty()) {
    const std::lock_guard lock(mutex_);
    const AwaitedPeer* const awaited = find(number_of(qp));
    why = "the peer did not connect in time";
    if (awaited != nullptr) {
      why = fmt::format(
          "queue pair {:#08x} at {} did not connect in the time that timeout and retry_cnt allow",
          awaited->of_peer.from, to_text(awaited->route.peer));
    }
  }
  log_not_found(qp, why);
  forget(number_of(qp));
  core_.rnic().cancel(qp.sender());
  (void)verbs::QueuePairPort::give_up(qp.sender());
  qp_disconnected(qp);
  verbs::QueuePairPort::announce(*qp.core, verbs::Announce::kAll);
}

}  // namespace iwarp::rdma_core
