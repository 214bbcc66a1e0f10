// SPDX-License-Identifier: Apache-2.0
// Makes requests: decides what a program writes and where, and thereby what the expected result is.
#include <algorithm>
#include <cstring>

#include "plans/program.hpp"

namespace iwarp::chaos {
namespace {

using namespace verbs;
using State = Opened::State;

constexpr std::size_t kMaxInline = 256;

}  // namespace

struct Program::Draft {
  Op op;
  SendWr wr;
  std::vector<Sge> list;
  bool is_fenced = false;
  bool is_inline = false;
  bool has_key = true;  ///< whether the request has the correct key for its source or sink
};

// Returns whether the connection supports the step. Most programs check this before they post a
// request. To simulate a program without this check, returns true for one `place` in 16.
bool Program::suits(Link& link, const Side& side, const Step& step) const {
  if (step.place % 16 == 0) return true;
  const bool reads = step.act == Act::kRead || step.act == Act::kReadInvalidate ||
                     step.act == Act::kFetchAdd || step.act == Act::kCmpSwap;
  const auto qp = side.qp->query();
  if (qp.state == verbs::QpState::kRts) {
    return !reads || (qp.ord != 0 && link.ird_of(link.peer_of(side)) != 0);
  }
  return !reads && !needs_agreement(step.act) && (link.session != nullptr || side.over == 0);
}

void Program::post(Link& link, Side& side, const Step& step) {
  if (!suits(link, side, step)) return;
  Draft draft;
  draft.op.act = step.act;
  draft.op.is_signaled = step.is_signaled;
  draft.is_fenced = step.is_fenced;
  if (!fill(link, side, step, draft)) {
    return withdraw(side, draft.op);
  }
  spoil(link, step, draft);
  submit(link, side, draft);
}

// Completes the request of a step. Returns false if the program cannot take the step now.
bool Program::fill(Link& link, Side& side, const Step& step, Draft& draft) {
  Op& op = draft.op;
  op.is_solicited = step.is_solicited && op.takes_receive();
  switch (op.act) {
    case Act::kImmediate:
      fill_immediate(step, draft);
      return true;
    case Act::kWrite:
    case Act::kWriteImmediate:
      fill_immediate(step, draft);
      return fill_target(link, side, step, draft) && fill_payload(side, step, draft);
    case Act::kRead:
    case Act::kReadInvalidate:
    case Act::kFetchAdd:
    case Act::kCmpSwap:
      return fill_target(link, side, step, draft) && fill_sink(link, side, step, draft);
    case Act::kOpen:
      return fill_opening(side, step, draft);
    case Act::kLocalInvalidate:
      return fill_invalidate(link, side, step, draft);
    case Act::kSendInvalidate:
      return fill_payload(side, step, draft) && fill_invalidate(link, side, step, draft);
    default:
      fill_immediate(step, draft);
      return fill_payload(side, step, draft);
  }
}

void Program::fill_immediate(const Step& step, Draft& draft) {
  const Act act = draft.op.act;
  if (act == Act::kSend || act == Act::kWrite) return;
  // If the ends have negotiated Send with Immediate, the value 0xC0000000 in the last four octets
  // of an Immediate means that this Immediate belongs to the next Send. post_send() therefore
  // refuses the value in other requests. Sets these octets to 0, so that the value never occurs.
  draft.op.immediate = (step.value >> 32 | 1) << 32;
}

bool Program::fill_payload(Side& side, const Step& step, Draft& draft) {
  Op& op = draft.op;
  const bool is_send = !op.is_write();
  const std::size_t n = op.is_write()                   ? op.payload.size()
                        : step.wrong == Wrong::kTooLong ? plan_.receive_size + 1
                                                        : std::min(step.size, plan_.receive_size);
  op.payload.resize(n);
  Random random(step.value);
  for (std::size_t i = 0; i < n; i += 8) {
    const auto bits = random.bits();
    std::memcpy(op.payload.data() + i, &bits, std::min<std::size_t>(8, n - i));
  }
  if (is_send && step.wrong == Wrong::kTooLong) op.is_refused = true;
  draft.is_inline = step.is_inline && n <= kMaxInline && step.wrong != Wrong::kLocalKey;
  if (draft.is_inline) return true;
  const auto at = side.out->take(n);
  if (!at) return false;
  op.local = side.out;
  op.local_at = *at;
  std::ranges::copy(op.payload, side.out->data() + *at);
  return true;
}

// Selects a place in the peer's target. Addresses it by the STag of the whole target, or by the
// STag of a window or region that the peer has opened.
bool Program::fill_target(Link& link, Side& side, const Step& step, Draft& draft) {
  Op& op = draft.op;
  Side& peer = link.peer_of(side);
  op.target = peer.target.block();
  const bool is_atomic = op.is_atomic();
  op.is_word = is_atomic || (step.place % 8 == 0 && op.act != Act::kReadInvalidate);
  std::size_t low = op.is_word ? 0 : Target::kZone;
  std::size_t high = op.is_word ? Target::kZone : Target::kSize;
  const auto usable = [&](const Opened& o) {
    return o.state == State::kOpen && std::max(low, o.at) + 8 <= std::min(high, o.at + o.size);
  };
  Opened& chosen = peer.opened[step.place / 8 % peer.opened.size()];
  if (step.place / 32 % 2 == 0 && usable(chosen)) {
    op.through = &chosen;
    low = std::max(low, chosen.at);
    high = std::min(high, chosen.at + chosen.size);
  }
  const std::size_t n = op.is_word ? 8 : std::min<std::size_t>(step.size, high - low);
  op.target_at = low + (high - low == n ? 0 : step.place / 64 % (high - low - n + 1));
  if (op.is_word) op.target_at = op.target_at / 8 * 8;
  op.payload.resize(is_atomic ? 0 : n);
  draft.wr.remote.rkey = op.through ? Stag{op.through->region->stag.load()} : op.target->stag();
  draft.wr.remote.to = op.through ? op.through->to(op.target_at) : op.target->base + op.target_at;
  return true;
}

bool Program::fill_sink(Link& link, Side& side, const Step& step, Draft& draft) {
  Op& op = draft.op;
  const Act act = op.act;
  const std::size_t n = op.is_atomic() ? 8 : op.payload.size();
  if (act == Act::kReadInvalidate && n == 0) return false;
  const auto at = side.sink->take(n);
  if (!at) return false;
  op.local = side.sink;
  op.local_at = *at;
  if (act == Act::kReadInvalidate) {
    op.sink_alias = side.host->blocks.alias(*side.sink, *at, n, Access::kLocalWrite);
  }
  op.operand = draft.wr.atomic.add_or_swap = step.value;
  if (op.is_atomic()) {
    const bool matches = step.place % 2 == 0;
    const auto word = link.peer_of(side).target.word(op.target_at);
    op.compare = draft.wr.atomic.compare = matches ? word : word + 1;
  }
  return true;
}

bool Program::fill_opening(Side& side, const Step& step, Draft& draft) {
  Opened& o = side.opened[step.place % side.opened.size()];
  if (o.state != State::kClosed) return false;
  Block& block = *side.target.block();
  o.at = step.place / 8 % (Target::kSize / 16) * 8;
  o.size = std::clamp<std::size_t>(step.size, 64, Target::kSize - o.at);
  const auto key = static_cast<std::uint8_t>(step.value);
  const Access access = Access::kRemoteRead | Access::kRemoteWrite | Access::kRemoteAtomic;
  const Stag stag{o.region->stag.load()};
  if (o.is_window) {
    draft.wr.bind = {.window = stag,
                     .key = key,
                     .region = block.stag(),
                     .address = block.sge(o.at, o.size, block.stag()).address,
                     .length = o.size,
                     .access = access};
  } else {
    draft.wr.registration = {
        .stag = stag,
        .key = key,
        .address = block.data() + o.at,
        .length = o.size,
        .access = access | Access::kZeroBased | Access::kRemoteInvalidate | Access::kLocalWrite};
  }
  draft.op.opens = &o;
  draft.op.is_signaled = true;
  return true;
}

// Either end may invalidate an STag. If the peer does so, its invalidation follows all of its
// requests that use the STag. If the owner does so, a request of the peer may still use the STag.
bool Program::fill_invalidate(Link& link, Side& side, const Step& step, Draft& draft) {
  Op& op = draft.op;
  Side& peer = link.peer_of(side);
  const bool by_peer = op.act == Act::kSendInvalidate;
  Side& owner = by_peer ? peer : side;
  Opened& o = owner.opened[step.place % owner.opened.size()];
  if (o.state != State::kOpen) return false;
  op.ends = &o;
  op.stag = Stag{o.region->stag.load()};
  draft.wr.invalidate = op.stag;
  if (by_peer) return true;
  op.is_signaled = true;
  const auto uses = [&](std::size_t i) {
    const Op& other = peer.ops[i];
    return other.through == &o && !other.is_late;
  };
  for (std::size_t i = peer.first; i < peer.ops.size(); ++i) {
    const bool is_done = peer.ops[i].is_over && (i < peer.placed || !peer.ops[i].is_write());
    if (uses(i) && !is_done) link.blame("invalidated while it was used");
  }
  return true;
}

void Program::spoil(Link& link, const Step& step, Draft& draft) {
  Op& op = draft.op;
  const bool names_target = op.target != nullptr;
  const bool empty = op.payload.empty() && !op.is_atomic();
  if (step.wrong == Wrong::kRemoteKey && names_target && !empty) {
    draft.wr.remote.rkey.value ^= 0x5A;
    op.is_refused = true;
    op.target = nullptr;
  } else if (step.wrong == Wrong::kBounds && names_target && !empty && op.through == nullptr) {
    const std::size_t inside = op.is_word ? 0 : op.payload.size() / 2;
    op.target_at = op.target->size - inside;
    draft.wr.remote.to = op.target->base + op.target_at;
    op.is_refused = true;
  } else if (step.wrong == Wrong::kLocalKey && op.local != nullptr && op.sink_alias == nullptr &&
             !empty) {
    draft.has_key = false;
    op.is_refused = op.is_local_error = true;
  }
  if (op.is_refused) link.blame("a program did wrong");
}

// Predicts the result of `op`, assuming that all earlier requests take effect.
void Program::predict(Side& peer, Op& op) {
  if (op.target != peer.target.block() || op.is_refused || op.is_late) return;
  if (op.is_read()) {
    const auto from = peer.target.posted().begin() + static_cast<long>(op.target_at);
    op.payload.assign(from, from + static_cast<long>(op.payload.size()));
  } else if (op.is_atomic()) {
    op.old_word = peer.target.word(op.target_at);
    const bool adds = op.act == Act::kFetchAdd;
    op.new_word = adds                        ? op.old_word + op.operand
                  : op.old_word == op.compare ? op.operand
                                              : op.old_word;
  }
  peer.target.post(op);
}

// Sets a fence if `op` writes to memory that an outstanding Read or atomic still uses.
void Program::fence_if_needed(const Side& side, Draft& draft) {
  const Op& op = draft.op;
  for (std::size_t i = side.over; i < side.ops.size(); ++i) {
    const Op& other = side.ops[i];
    if (!other.is_read() && !other.is_atomic()) continue;
    const auto n = other.is_atomic() ? 8 : other.payload.size();
    if (op.is_write() && op.overlaps(other.target, other.target_at, n)) draft.is_fenced = true;
    if (op.ends != nullptr && other.through == op.ends) draft.is_fenced = true;
  }
}

void Program::submit(Link& link, Side& side, Draft& draft) {
  Op& op = draft.op;
  fence_if_needed(side, draft);
  const std::size_t n = op.is_atomic() ? 8 : op.payload.size();
  if (draft.is_inline) {
    draft.list.push_back({.address = op.payload.data(), .length = static_cast<std::uint32_t>(n)});
  } else if (op.local != nullptr) {
    Stag key = op.sink_alias ? Stag{op.sink_alias->stag.load()} : op.local->stag();
    if (!draft.has_key) key.value ^= 0x77;
    const bool split = op.carries_payload() && n > 3;
    const std::size_t part = split ? n / 3 : n;
    draft.list.push_back(op.local->sge(op.local_at, part, key));
    if (split) draft.list.push_back(op.local->sge(op.local_at + part, n - part, key));
  }
  auto flags = draft.is_fenced ? SendFlags::kFence : SendFlags::kNone;
  if (op.is_signaled) flags = flags | SendFlags::kSignaled;
  if (op.is_solicited) flags = flags | SendFlags::kSolicited;
  if (draft.is_inline) flags = flags | SendFlags::kInline;
  SendWr& wr = draft.wr;
  wr.wr_id = side.ops.size();
  wr.opcode = op.opcodes().request;
  wr.flags = flags;
  wr.sgl = draft.list;
  wr.immediate = op.immediate;
  deliver(link, side, draft);
}

void Program::deliver(Link& link, Side& side, Draft& draft) {
  Op& op = draft.op;
  const auto before = side.qp->query();
  op.is_late = before.state != verbs::QpState::kIdle && before.state != verbs::QpState::kRts;
  if (link.session != nullptr) {
    op.pushed = link.wires[&side == link.sides.data() ? 0 : 1].log.size();
  }
  if (const auto error = side.qp->post_send(draft.wr)) {
    const bool agreed = op.act == Act::kSendImmediate ? before.send_immediate : before.extensions;
    const bool full = side.ops.size() - side.reaped >= link.plan->max_send_wr;
    require((error == Errc::kNotAgreed && needs_agreement(op.act) && !agreed) ||
                (error == Errc::kQueueFull && full),
            "a request was refused", "{}", error.message());
    return withdraw(side, op);
  }
  const std::size_t index = side.ops.size();
  if (link.closes) link.blame("posted behind a close");  // [VRB-17]
  if (!op.is_late) {
    if (op.ends != nullptr) op.ends->state = State::kClosing;
    if (op.opens != nullptr) op.opens->state = State::kOpening;
    predict(link.peer_of(side), op);
  }
  story_.tell("       request {:#x} of {} octets{}{}", index, op.payload.size(),
              op.target != nullptr ? " in the target" : "",
              op.through != nullptr ? ", by what the peer opened" : "");
  side.ops.push_back(std::move(op));
  if (before.state == verbs::QpState::kRts) world_.judge(link, side, index);
}

void Program::withdraw(Side& side, Op& op) {
  if (op.local != nullptr) op.local->give_back(op.local_at);
  if (op.sink_alias != nullptr) side.host->stags.destroy(op.sink_alias, [](verbs::Region&) {});
}

}  // namespace iwarp::chaos
