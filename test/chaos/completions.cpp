// SPDX-License-Identifier: Apache-2.0
// The test oracle for completions: which completion must come next, what it must contain, and what
// must be in memory at that moment.
#include <algorithm>
#include <cstring>

#include "world.hpp"

template <>
struct fmt::formatter<iwarp::verbs::WorkCompletion> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const iwarp::verbs::WorkCompletion& wc, Context& context) const {
    return fmt::format_to(context.out(), "completion {:#x} {} of queue pair {}", wc.wr_id,
                          iwarp::verbs::to_string(wc.status), wc.qp_num);
  }
};

namespace iwarp::chaos {
namespace {

using namespace verbs;

std::vector<WorkCompletion> drain(verbs::CompletionQueue& cq) {
  std::vector<WorkCompletion> out;
  std::array<WorkCompletion, 64> some;
  while (const auto n = cq.poll(some)) out.insert(out.end(), some.begin(), some.begin() + n);
  require(!cq.overflowed(), "a completion queue overflowed", "");
  return out;
}

}  // namespace

bool Link::is_acknowledged(const Side& side) const {
  const std::size_t which = &side == sides.data() ? 0 : 1;
  const auto& options = session->options[which];
  if (options.completions != verbs::Completions::kAcknowledged) return false;
  const auto& startup = side.connection()->startup();
  const auto& offer = startup.peer_offer();
  const auto ord = startup.negotiated().ord;
  const bool agreed = startup.negotiated().enhanced && offer && offer->ird != mpa::kNoNegotiation;
  const auto asked = which == 0 ? options.startup.ord : session->ord;
  return (agreed ? ord : std::min(ord, asked)) != 0;
}

std::uint16_t Link::ird_of(const Side& side) const {
  return &side == sides.data() ? session->options[0].startup.ird : session->ird;
}

// Handles the completions of receives first, so that a receive is complete when the sender learns
// that its Send has arrived.
void World::poll() {
  std::array<std::vector<WorkCompletion>, 2> found;
  for (std::size_t i = 0; i < 2; ++i) {
    found[i] = drain(hosts[i].cq);
    const auto more = drain(hosts[i].second_cq);
    found[i].insert(found[i].end(), more.begin(), more.end());
    completed += found[i].size();
  }
  for (const bool receives : {true, false}) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (const WorkCompletion& wc : found[i]) {
        if (((wc.wr_id & kReceiveId) != 0) != receives) continue;
        require(wc.qp_num - 1 < links.size(), "a completion of no queue pair", "{}", wc);
        Link& link = *links[wc.qp_num - 1];
        story.tell("       link {} side {}: {}", link.number, i, wc);
        receives ? receive_completion(link, link.sides[i], wc)
                 : sent_completion(link, link.sides[i], wc);
      }
    }
  }
  for (const auto& link : links) {
    for (Side& side : link->sides) {
      // If requests complete only when the peer acknowledges them, the oracle treats unsignaled
      // requests as done only at the end of the run.
      const bool waits = link->session != nullptr && link->is_acknowledged(side);
      if (!waits) pass_over(*link, side, side.ops.size() - side.qp->query().send_outstanding);
    }
  }
}

// Requests ----------------------------------------------------------------------------------------

void World::sent_completion(Link& link, Side& side, const WorkCompletion& wc) {
  const auto index = static_cast<std::size_t>(wc.wr_id);
  require(index < side.ops.size(), "a completion of no request", "{}", wc);
  require(index >= side.over, "a request completed twice, or out of order", "{}, due is {}", wc,
          side.over);
  pass_over(link, side, index);
  Op& op = side.ops[index];
  op.status = wc.status;
  side.over = side.reaped = index + 1;
  if (wc.status == WcStatus::kSuccess) {
    require(!side.has_failed, "success behind a failure", "{}", wc);
    require(op.is_signaled || side.signal_all, "a completion of an unsignaled request", "{}", wc);
    succeeded(link, side, index, wc);
  } else {
    const bool flushed = wc.status == WcStatus::kWrFlush;
    require(flushed || !side.has_error, "a second error of one stream", "{}", wc);
    require(!link.cause.empty() || op.is_late, "a request failed without a cause", "{}", wc);
    if (!op.is_late) side.has_failed = true;
    side.has_error |= !flushed;
    // The request failed before any octet of it or of a later request was sent.
    if (wc.status == WcStatus::kLocalQpOperation || wc.status == WcStatus::kMwBind) {
      side.limit = std::min(side.limit, index + 1);
    }
  }
  finish(side, op);
}

// Treats the requests before `end` that have no completion as done. A request may lack a completion
// only if it is unsignaled and did not fail.
void World::pass_over(Link& link, Side& side, std::size_t end) {
  for (; side.over < end; ++side.over) {
    Op& op = side.ops[side.over];
    const bool silent = !op.is_signaled && !side.signal_all && !side.has_failed;
    require(silent, "a completion was lost", "link {}, request {} of {}", link.number, side.over,
            side.ops.size());
    finish(side, op);
  }
}

// Called when a request is done. The program may then reuse the memory of the request.
void World::finish(Side& side, Op& op) {
  op.is_over = true;
  if (op.sink_alias != nullptr) {
    const auto gone = side.host->stags.destroy(op.sink_alias, [](verbs::Region&) {
      throw Violation{"memory stays pinned", "the sink of a Read that is complete"};
    });
    require(!gone, "a region could not be deregistered", "{}", gone.message());
  }
  if (op.local != nullptr && op.local->region != nullptr) op.local->give_back(op.local_at);
  if (op.opens != nullptr && op.opens->state == Opened::State::kOpening) {
    op.opens->state =
        op.opens->region->valid.load() ? Opened::State::kOpen : Opened::State::kClosed;
  }
}

void World::succeeded(Link& link, Side& side, std::size_t index, const WorkCompletion& wc) {
  const Op& op = side.ops[index];
  const auto length = op.is_read() ? op.payload.size() : op.is_atomic() ? 8 : 0;
  const bool sent_is_enough = op.carries_payload() || op.takes_receive();
  const bool acknowledged = link.session != nullptr && link.is_acknowledged(side);
  require(
      !op.is_late && !op.is_local_error && (!op.is_refused || (sent_is_enough && !acknowledged)),
      "a request succeeded that could not", "{}", wc);
  require(wc.opcode == op.opcodes().completion && wc.byte_len == length,
          "a completion says what is not so", "{}", wc);
  if (op.is_read() || op.is_atomic()) {
    std::vector<std::byte> wanted = op.payload;
    auto taints = op.taints;
    if (op.is_atomic()) {
      wanted.resize(8);
      std::memcpy(wanted.data(), &op.old_word, 8);
    }
    for (const Taint& t : link.peer_of(side).target.taints()) {
      if (op.is_read() && t.at >= op.target_at) taints.push_back({t.at - op.target_at, t.mask});
    }
    const bool readable = op.local != nullptr && op.local->region != nullptr;
    require(!readable || same_but(op.local->span(op.local_at, wanted.size()), wanted, taints),
            "a Read or atomic brought what was not there", "{}", wc);
    require(op.sink_alias == nullptr || !op.sink_alias->valid.load(),
            "a sink that was to be invalidated is valid", "{}", wc);
    return place(link, side, index + 1);
  }
  if (op.act == Act::kOpen) {
    require(op.opens->region->valid.load(), "what was opened is not valid", "{}", wc);
  }
  if (op.act == Act::kLocalInvalidate) {
    require(!op.ends->region->valid.load(), "what was invalidated is valid", "{}", wc);
    op.ends->state = Opened::State::kClosed;
  }
  if (acknowledged) return place(link, side, index + 1);
  const std::size_t which = &side == link.sides.data() ? 0 : 1;
  const auto left = link.wires[which].log.size();
  require(op.is_local() || left >= op.pushed + op.payload.size(), "complete before it was sent",
          "{}", wc);
}

// Called when every request before `end` has taken effect at the peer. Checks the peer's memory.
void World::place(Link& link, Side& side, std::size_t end) {
  if (end <= side.placed) return;
  Side& peer = link.peer_of(side);
  for (std::size_t i = side.next_message; i < end; ++i) {
    require(!side.ops[i].takes_receive(), "what the peer has acknowledged did not arrive",
            "link {}, request {}", link.number, i);
  }
  side.next_message = std::max(side.next_message, end);
  const auto before = std::exchange(side.placed, end);
  peer.target.settle(side.ops, before, end);
  for (std::size_t i = before; i < end; ++i) {
    const Op& op = side.ops[i];
    require(!op.is_refused || op.is_read() || op.is_atomic(),
            "a request took effect that had to be refused", "link {}, request {}", link.number, i);
    if (op.act != Act::kSendInvalidate || op.ends == nullptr) continue;
    // The owner may have opened the window or region again in the meantime.
    if (op.ends->state != Opened::State::kClosing) continue;
    require(!op.ends->region->valid.load(), "what the peer invalidated is valid", "");
    op.ends->state = Opened::State::kClosed;
  }
}

// Receives ----------------------------------------------------------------------------------------

void World::receive_completion(Link& link, Side& side, const WorkCompletion& wc) {
  Receive receive;
  if (side.has_srq) {
    const auto found = side.host->shared.find(wc.wr_id);
    require(found != side.host->shared.end(), "a completion of no receive", "{}", wc);
    receive = found->second;
    side.host->shared.erase(found);
  } else {
    require(!side.receives.empty() && side.receives.front().id == wc.wr_id,
            "a receive completed twice, or out of order", "{}", wc);
    receive = side.receives.front();
    side.receives.pop_front();
  }
  if (wc.status == WcStatus::kSuccess) {
    require(!side.receives_flushed, "success behind a failure", "{}", wc);
    received(link, side, wc, receive);
  } else {
    const bool in_order = side.has_srq ? !link.cause.empty() : link.closes || !link.cause.empty();
    require(in_order, "a receive failed without a cause", "{}", wc);
    side.receives_flushed = true;
    for (const auto& other : links) {
      if (side.has_srq) other->blame("a shared receive was flushed");
    }
  }
  if (receive.block->region != nullptr) receive.block->give_back(receive.at);
}

void World::received(Link& link, Side& side, const WorkCompletion& wc, const Receive& receive) {
  Side& from = link.peer_of(side);
  std::size_t i = from.next_message;
  while (i < from.ops.size() && !from.ops[i].takes_receive()) ++i;
  require(i < from.ops.size(), "a receive completed for a message that was never sent", "{}", wc);
  const Op& op = from.ops[i];
  const bool has_payload = op.carries_payload() && op.act != Act::kWriteImmediate;
  const auto length = has_payload ? op.payload.size() : 0;
  const bool has_immediate = op.opcodes().receive != WcOpcode::kRecv;
  require(!op.is_refused && !op.is_late, "a message arrived that could not",
          "{}, request {} of the peer", wc, i);
  require(wc.opcode == op.opcodes().receive && wc.byte_len == length &&
              wc.solicited == op.is_solicited &&
              wc.invalidated == (op.act == Act::kSendInvalidate) &&
              wc.immediate == (has_immediate ? op.immediate : 0),
          "a receive says what was not sent", "{}, request {} of the peer", wc, i);
  if (wc.invalidated) {
    require(wc.invalidated_stag.value == op.stag.value, "a receive says what was not sent",
            "{}, request {} of the peer", wc, i);
  }
  if (receive.block->region != nullptr) {
    const bytes::View cell = receive.block->span(receive.at, receive.size);
    const auto payload = has_payload ? bytes::View(op.payload) : bytes::View{};
    require(same_but(cell.first(length), payload, op.taints), "a receive holds what was not sent",
            "{}, request {} of the peer", wc, i);
    require(
        std::ranges::all_of(cell.subspan(length), [](std::byte b) { return b == kUnusedOctet; }),
        "octets behind a message changed", "{}, request {} of the peer", wc, i);
  }
  from.next_message = i + 1;
  place(link, from, i + 1);
}

}  // namespace iwarp::chaos
