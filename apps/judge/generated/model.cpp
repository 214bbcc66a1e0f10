// SPDX-License-Identifier: Apache-2.0
// The rules of the model, each with its source, and what each call changes in the state of the two
// ends.
#include "judge/generated/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace iwarp::judge::generated {
namespace {

constexpr std::size_t kWord = 8;  // bytes that an atomic operation reads and writes

bool has_imm(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

ibv_wc_opcode completion_of(ibv_wr_opcode opcode) {
  if (is_send(opcode)) return IBV_WC_SEND;
  if (is_write(opcode)) return IBV_WC_RDMA_WRITE;
  if (opcode == IBV_WR_RDMA_READ) return IBV_WC_RDMA_READ;
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD;
}

unsigned right_for(ibv_wr_opcode opcode) {
  if (is_write(opcode)) return IBV_ACCESS_REMOTE_WRITE;
  return opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;
}

bool grants(Region region, std::size_t begin, std::size_t length, unsigned right) {
  if (region == kStale || region == kUnknownKey) return false;
  if (begin + length > (region == kShortRegion ? kShort : kMemory)) return false;
  if (region == kNoRemoteRights) return right <= IBV_ACCESS_LOCAL_WRITE;
  return region != kNoLocalWrite || right == 0 || right == IBV_ACCESS_REMOTE_READ;
}

bool may_use(std::span<const Sge> sges, unsigned right) {
  return std::ranges::all_of(
      sges, [&](const Sge& sge) { return grants(sge.region, sge.at, sge.length, right); });
}

std::string name(ibv_wc_status status) { return ibv_wc_status_str(status); }

std::string names(std::span<const ibv_wc_status> statuses) {
  std::vector<std::string> out;
  for (const auto status : statuses) out.push_back(name(status));
  return fmt::format("{}", fmt::join(out, " or "));
}

bool may_succeed(const Expected& expected) {
  return std::ranges::find(expected.statuses, IBV_WC_SUCCESS) != expected.statuses.end();
}

}  // namespace

/// What follows if a request fails. The request completes with `requester`, even if it is not
/// signaled (IBTA 10.7.3.1). All earlier requests are carried out first; later ones are flushed and
/// not carried out, but see overtake() (IBTA 9.7.5.1, 10.8.3.3; VRB-43). The requester's queue pair
/// goes to ERR and flushes both queues (IBTA 10.3.1.5).
struct Rule {
  ibv_wc_status requester;
  /// Status of the receive that the message consumes, if it consumes one.
  std::optional<ibv_wc_status> receive = std::nullopt;
  /// As RoCE. As an RNIC, each fault but kPeerGone causes a Terminate, which ends both ends (RFC
  /// 5040 section 7.1, decision 0037).
  bool stops_responder = true;
  /// As RoCE at the responder; as an RNIC at both ends, because each Terminate causes an event.
  std::optional<ibv_event_type> event = std::nullopt;
  bool is_event_certain = true;  ///< as RoCE
};

namespace {

// IBTA 9.9.2.4.1: a local error of the requester. It sends nothing for the faulty request, so the
// responder notices nothing.
constexpr Rule kLocal{
    .requester = IBV_WC_LOC_PROT_ERR, .stops_responder = false, .event = IBV_EVENT_QP_FATAL};
// IBTA 9.7.4.1.3, 9.9.3.1: NAK "remote access error"; the responder reports an "access violation"
// (11.6.3.2), because no receive reports it.
constexpr Rule kAccess{.requester = IBV_WC_REM_ACCESS_ERR, .event = IBV_EVENT_QP_ACCESS_ERR};
// IBTA 9.7.4.1.3, 11.6.2: NAK "invalid request" if the queue pair does not allow the operation or
// has no resources for Reads, or if an atomic operation is misaligned (9.4.5).
constexpr Rule kInvalid{.requester = IBV_WC_REM_INV_REQ_ERR, .event = IBV_EVENT_QP_REQ_ERR};
// IBTA 9.7.4.1.3, 9.9.3.1.5: the message is longer than the receive, whose completion reports it.
constexpr Rule kTooLong{.requester = IBV_WC_REM_INV_REQ_ERR,
                        .receive = IBV_WC_LOC_LEN_ERR,
                        .event = IBV_EVENT_QP_REQ_ERR,
                        .is_event_certain = false};
// IBTA 9.7.4.1.3: NAK "remote operational error"; the receive's completion reports it (11.6.2).
constexpr Rule kReceive{.requester = IBV_WC_REM_OP_ERR,
                        .receive = IBV_WC_LOC_PROT_ERR,
                        .event = IBV_EVENT_QP_FATAL,
                        .is_event_certain = false};
// IBTA 9.7.5.2.8: "receiver not ready" is an error of the requester alone.
constexpr Rule kNotReady{
    .requester = IBV_WC_RNR_RETRY_EXC_ERR, .stops_responder = false, .event = IBV_EVENT_QP_REQ_ERR};
// IBTA 9.9.2.1, decision 0023: the peer does not answer, because its queue pair is not in RTR or
// RTS.
constexpr Rule kPeerGone{.requester = IBV_WC_RETRY_EXC_ERR};

}  // namespace

void Model::create(int end, const QpOptions& options) {
  End& own = ends_[at(end)];
  own.options = options;
  modify(end, IBV_QPS_RESET, options);
}

void Model::destroy(int end) { modify(end, IBV_QPS_RESET, ends_[at(end)].options); }

// IBTA 10.3.1: RESET empties both queues and removes the completions of the queue pair; ERR flushes
// both. The peer is not reported (decision 0037: as RoCE it stays in RTS). As an RNIC it may be
// reported.
void Model::modify(int end, ibv_qp_state to, const QpOptions& options) {
  End& own = ends_[at(end)];
  End& peer = ends_[at(1 - end)];
  const bool ends_connection = to == IBV_QPS_RESET || to == IBV_QPS_ERR;
  if (ends_connection && is_connected_ && !as_roce_) {
    peer.may_leave = true;
    peer.may_events.push_back(IBV_EVENT_QP_FATAL);
  }
  if (ends_connection) is_connected_ = false;
  own.is_leaving = own.may_leave = false;
  if (to == IBV_QPS_RESET) {
    own.receives.clear();
    own.expected = {};
    own.posted = own.retired = {};
    own.consumed = 0;
  }
  if (to == IBV_QPS_INIT) own.options.rights = options.rights;
  if (to == IBV_QPS_RTR) own.options.reads = options.reads;
  if (to == IBV_QPS_ERR) leave(own);
  own.is_leaving = false;
  own.state = to;
  const bool is_peer_ready = peer.state == IBV_QPS_RTR || peer.state == IBV_QPS_RTS;
  if (to == IBV_QPS_RTS && is_peer_ready) is_connected_ = true;
}

// ibv_post_send(3): elements are posted in order until one is refused. IBTA 10.3.1: nothing is
// posted in RESET; only receives are posted in INIT and RTR.
PostResult Model::post_send(int end, std::span<const Request> list) {
  End& own = ends_[at(end)];
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (const int code = refuse(own, list[i])) return {code, i};
    execute(end, list[i]);
  }
  return {};
}

int Model::refuse(const End& end, const Request& request) const {
  if (end.state != IBV_QPS_RTS && end.state != IBV_QPS_ERR) return EINVAL;
  if (request.sges.size() > end.options.cap.max_send_sge) return EINVAL;
  const bool is_inline = (request.flags & IBV_SEND_INLINE) != 0;
  if (is_inline && length_of(request.sges) > end.options.cap.max_inline_data) return EINVAL;
  if (request.opcode == IBV_WR_DRIVER1) return EINVAL;
  return is_full(end) ? ENOMEM : 0;
}

// A slot is free again when the completion of its request, or of a later one, was polled.
bool Model::is_full(const End& end) {
  return end.posted[0] - end.retired[0] == end.options.cap.max_send_wr;
}

PostResult Model::post_recv(int end, std::span<const Receive> list) {
  End& own = ends_[at(end)];
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (own.state == IBV_QPS_RESET && as_roce_) return {EINVAL, i};
    if (list[i].sges.size() > own.options.cap.max_recv_sge) return {EINVAL, i};
    if (own.posted[1] - own.retired[1] == own.options.cap.max_recv_wr) return {ENOMEM, i};
    if (own.state == IBV_QPS_ERR) {
      expect(own, list[i], IBV_WC_WR_FLUSH_ERR);
    } else {
      own.receives.push_back(list[i]);
    }
    ++own.posted[1];
  }
  return {};
}

void Model::execute(int end, const Request& request) {
  End& own = ends_[at(end)];
  ++own.posted[0];
  if (own.state == IBV_QPS_ERR) {
    Expected& it = expect(own, request, {IBV_WC_WR_FLUSH_ERR});
    // As an RNIC, a request is complete when it was sent, and the peer's Terminate may come later.
    if (own.is_leaving && own.sends_late) it.statuses.push_back(IBV_WC_SUCCESS);
    if (own.is_leaving && own.may_overtake) overtake(ends_[at(1 - end)], request);
  } else if (const Rule* const rule = judge(ends_[at(1 - end)], request)) {
    fail(end, request, *rule);
  } else {
    succeed(end, request);
  }
}

const Rule* Model::judge(const End& peer, const Request& request) const {
  const auto opcode = request.opcode;
  const bool is_inline = (request.flags & IBV_SEND_INLINE) != 0;
  const unsigned local = is_answered(opcode) ? IBV_ACCESS_LOCAL_WRITE : 0;
  if (!is_inline && !may_use(request.sges, local)) return &kLocal;
  if (!is_connected_) return &kPeerGone;
  if (!is_send(opcode)) {
    const unsigned right = right_for(opcode);
    const std::size_t length = is_atomic(opcode) ? kWord : length_of(request.sges);
    if ((peer.options.rights & right) == 0) return &kInvalid;
    if (is_answered(opcode) && peer.options.reads == 0) return &kInvalid;
    if (is_atomic(opcode) && request.remote_at % kWord != 0) return &kInvalid;
    if (!grants(request.remote_region, request.remote_at, length, right)) return &kAccess;
  }
  if (!consumes_receive(opcode)) return nullptr;
  if (peer.receives.empty()) return &kNotReady;
  const auto& receive = peer.receives.front();
  if (!is_send(opcode)) return nullptr;
  if (length_of(receive.sges) < length_of(request.sges)) return &kTooLong;
  // Only the octets that are placed are checked (decision 0014).
  std::size_t rest = length_of(request.sges);
  for (const Sge& sge : receive.sges) {
    const auto placed = std::min<std::size_t>(sge.length, rest);
    if (placed != 0 && !grants(sge.region, sge.at, placed, IBV_ACCESS_LOCAL_WRITE))
      return &kReceive;
    rest -= placed;
  }
  return nullptr;
}

void Model::fail(int end, const Request& request, const Rule& rule) {
  End& own = ends_[at(end)];
  End& peer = ends_[at(1 - end)];
  const bool is_local = &rule == &kLocal;
  std::vector<ibv_wc_status> statuses{rule.requester};
  if (!as_roce_ && !is_local) {
    // RFC 5040 section 4.8: the Terminate need not say which request it is about.
    statuses.push_back(IBV_WC_WR_FLUSH_ERR);
    // RFC 5040 has one code for what IBTA calls access errors and invalid requests.
    if (rule.requester == IBV_WC_REM_INV_REQ_ERR) statuses.push_back(IBV_WC_REM_ACCESS_ERR);
    if (!is_answered(request.opcode)) statuses.push_back(IBV_WC_SUCCESS);
  }
  expect(own, request, std::move(statuses));
  if (is_answered(request.opcode)) forget(own, request.sges);
  if (is_write(request.opcode) && !is_local) {
    forget(peer, std::array{Sge{request.remote_at, length_of(request.sges)}});
  }
  own.sends_late = !as_roce_ && !is_local;
  own.may_overtake = !is_local && is_answered(request.opcode);
  if (rule.receive && !peer.receives.empty()) {
    expect(peer, peer.receives.front(), *rule.receive);
    forget(peer, peer.receives.front().sges);
    peer.receives.pop_front();
  }
  leave(own);
  is_connected_ = false;
  if (&rule == &kPeerGone) return;
  if (as_roce_ ? rule.stops_responder : true) leave(peer);
  if (!rule.event || (as_roce_ && !rule.stops_responder)) return;
  (as_roce_ && !rule.is_event_certain ? peer.may_events : peer.events).push_back(*rule.event);
  if (!as_roce_) own.events.push_back(*rule.event);
}

// RFC 5040 section 5.5: the responder may carry out a Send or Write before it answers, and so
// refuses, an earlier Read. IBTA 11.6.2 does not promise that a flushed request was not carried
// out.
void Model::overtake(End& peer, const Request& request) {
  if (is_answered(request.opcode)) return;
  if (is_write(request.opcode))
    forget(peer, std::array{Sge{request.remote_at, length_of(request.sges)}});
  if (!consumes_receive(request.opcode)) return;
  const auto it = std::ranges::find(peer.expected[1], 1U, [](const auto& one) {
    return one.statuses.size() + (may_succeed(one) ? 1 : 0);
  });
  if (it == peer.expected[1].end()) return;
  it->statuses.push_back(IBV_WC_SUCCESS);
  forget(peer, it->sges);
  succeed(*it, request);
}

void Model::leave(End& end) {
  end.state = IBV_QPS_ERR;
  end.is_leaving = true;
  for (const Receive& receive : end.receives) {
    expect(end, receive, IBV_WC_WR_FLUSH_ERR);
  }
  end.receives.clear();
}

// Bytes that an operation was about to write when it failed are undefined.
void Model::forget(End& end, std::span<const Sge> sges) {
  for (const Sge& sge : sges) {
    for (std::size_t i = sge.at; i < std::min<std::size_t>(sge.at + sge.length, kMemory); ++i) {
      end.is_unknown[i] = 1;
    }
  }
}

void Model::succeed(int end, const Request& request) {
  End& own = ends_[at(end)];
  End& peer = ends_[at(1 - end)];
  expect(own, request, {IBV_WC_SUCCESS});
  std::uint8_t* const remote = peer.memory.data() + request.remote_at;
  std::vector<std::uint8_t> payload;
  if (is_answered(request.opcode)) {
    payload.assign(remote, remote + length_of(request.sges));
    if (is_atomic(request.opcode)) {
      std::uint64_t word = 0;
      std::memcpy(&word, remote, kWord);
      if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        word += request.operand;
      } else if (word == request.compare) {
        word = request.operand;
      }
      std::memcpy(remote, &word, kWord);
    }
    scatter(own, request.sges, payload);
    return;
  }
  for (const Sge& sge : request.sges) {
    const auto from = own.memory.begin() + sge.at;
    payload.insert(payload.end(), from, from + sge.length);
  }
  if (is_write(request.opcode)) std::ranges::copy(payload, remote);
  if (!consumes_receive(request.opcode)) return;
  const Receive receive = std::move(peer.receives.front());
  peer.receives.pop_front();
  succeed(expect(peer, receive, IBV_WC_SUCCESS), request);
  if (is_send(request.opcode)) scatter(peer, receive.sges, payload);
}

void Model::succeed(Expected& receive, const Request& request) {
  receive.opcode = is_send(request.opcode) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  receive.length = length_of(request.sges);
  if (has_imm(request.opcode)) receive.imm = request.imm;
}

void Model::scatter(End& end, std::span<const Sge> sges, std::span<const std::uint8_t> payload) {
  for (const Sge& sge : sges) {
    const auto part = payload.first(std::min<std::size_t>(sge.length, payload.size()));
    std::ranges::copy(part, end.memory.begin() + sge.at);
    payload = payload.subspan(part.size());
  }
}

Expected& Model::expect(End& own, const Request& request, std::vector<ibv_wc_status> statuses) {
  return own.expected[0].emplace_back(Expected{
      .id = request.id,
      .statuses = std::move(statuses),
      .opcode = completion_of(request.opcode),
      .length = is_answered(request.opcode) ? std::optional(length_of(request.sges)) : std::nullopt,
      .is_signaled = own.options.signal_all || (request.flags & IBV_SEND_SIGNALED) != 0,
      .number = own.posted[0]});
}

// Receives are numbered when they are consumed, which is the order in which they were posted.
Expected& Model::expect(End& own, const Receive& receive, ibv_wc_status status) {
  return own.expected[1].emplace_back(Expected{
      .id = receive.id, .statuses = {status}, .number = ++own.consumed, .sges = receive.sges});
}

std::string Model::completed(int end, bool is_receive, const ibv_wc& wc) {
  End& own = ends_[at(end)];
  auto& queue = own.expected[is_receive ? 1 : 0];
  while (!queue.empty() && queue.front().id != wc.wr_id && is_optional(queue.front())) {
    queue.pop_front();
  }
  if (queue.empty())
    return fmt::format("completion {} ({}), none expected", wc.wr_id, name(wc.status));
  const Expected expected = std::move(queue.front());
  queue.pop_front();
  if (expected.id != wc.wr_id) {
    return fmt::format("completion {} ({}), expected {} ({})", wc.wr_id, name(wc.status),
                       expected.id, names(expected.statuses));
  }
  const bool is_success = wc.status == IBV_WC_SUCCESS;
  if (std::ranges::find(expected.statuses, wc.status) == expected.statuses.end() ||
      (is_success && !expected.is_signaled)) {
    return fmt::format("completion {}: {}, expected {}{}", wc.wr_id, name(wc.status),
                       names(expected.statuses), expected.is_signaled ? "" : " (not signaled)");
  }
  own.retired[is_receive ? 1 : 0] = expected.number;
  if (!is_success) {  // No request succeeds after one that failed.
    for (Expected& later : queue) std::erase(later.statuses, IBV_WC_SUCCESS);
    return "";
  }
  const bool is_with_imm = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  if (wc.opcode == expected.opcode && is_with_imm == expected.imm.has_value() &&
      (!is_with_imm || wc.imm_data == *expected.imm) &&
      (!expected.length || wc.byte_len == *expected.length)) {
    return "";
  }
  return fmt::format("completion {}: opcode {}, {} bytes, imm {}; expected {}, {}, {}", wc.wr_id,
                     static_cast<int>(wc.opcode), wc.byte_len, is_with_imm,
                     static_cast<int>(expected.opcode), expected.length.value_or(0),
                     expected.imm.has_value());
}

// As an RNIC, only the answer of the peer proves anything; as RoCE, each completion is an answer.
std::optional<ibv_wr_opcode> Model::barrier(int end) const {
  const QpOptions& peer = ends_[at(1 - end)].options;
  if (!is_connected_ || ends_[at(end)].state != IBV_QPS_RTS) return std::nullopt;
  const auto allows = [&](unsigned right) { return (peer.rights & right) != 0; };
  if (allows(IBV_ACCESS_REMOTE_READ) && peer.reads != 0) return IBV_WR_RDMA_READ;
  if (allows(IBV_ACCESS_REMOTE_ATOMIC) && peer.reads != 0) return IBV_WR_ATOMIC_FETCH_AND_ADD;
  return IBV_WR_RDMA_WRITE;
}

bool Model::is_optional(const Expected& expected) {
  return !expected.is_signaled && may_succeed(expected);
}

const Expected* Model::awaited(int end, bool is_receive) const {
  const auto& queue = ends_[at(end)].expected[is_receive ? 1 : 0];
  const auto it = std::ranges::find_if_not(queue, is_optional);
  return it != queue.end() ? &*it : nullptr;
}

std::string Model::observed(int end, ibv_qp_state state) {
  End& own = ends_[at(end)];
  if (own.may_leave && state == IBV_QPS_ERR) {
    own.may_leave = false;
    leave(own);
  }
  if (own.is_leaving && state == IBV_QPS_ERR) own.is_leaving = own.sends_late = false;
  if (own.is_leaving && state == IBV_QPS_RTS) return "";  // The error is not noticed yet.
  const bool is_new = own.state == IBV_QPS_RESET && state == IBV_QPS_INIT && !as_roce_;
  if (state == own.state || is_new) return "";
  return fmt::format("state {}, expected {}", static_cast<int>(state), static_cast<int>(own.state));
}

// As an RNIC, the type of an event depends on the code of the Terminate, which RFC 5040 leaves
// open. IBTA 11.6.3.2 counts some invalid requests as access violations: misaligned atomic
// operations, and too many Reads.
std::string Model::reported(int end, ibv_event_type event) {
  End& own = ends_[at(end)];
  const auto fits = [&](ibv_event_type expected) {
    const bool is_close = expected == IBV_EVENT_QP_REQ_ERR && event == IBV_EVENT_QP_ACCESS_ERR;
    return !as_roce_ || expected == event || is_close;
  };
  for (auto* const list : {&own.events, &own.may_events}) {
    const auto it = std::ranges::find_if(*list, fits);
    if (it == list->end()) continue;
    list->erase(it);
    return "";
  }
  return fmt::format("event \"{}\", not expected", ibv_event_type_str(event));
}

std::optional<std::size_t> Model::differs(int end, std::span<const std::uint8_t> memory) const {
  const End& own = ends_[at(end)];
  if (std::ranges::equal(memory, own.memory)) return std::nullopt;
  for (std::size_t i = 0; i < kMemory; ++i) {
    if (own.is_unknown[i] == 0 && memory[i] != own.memory[i]) return i;
  }
  return std::nullopt;
}

}  // namespace iwarp::judge::generated
