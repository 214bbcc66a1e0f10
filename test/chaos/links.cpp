// SPDX-License-Identifier: Apache-2.0
// The links carry octets from one connection to the other, advance time, and inject network faults.
#include <algorithm>

#include "world.hpp"

namespace iwarp::chaos {
namespace {

constexpr auto kTurn = std::chrono::milliseconds(1);
constexpr std::size_t kSinkSize = 128 * 1024;
constexpr Access kTargetAccess = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead |
                                 Access::kRemoteAtomic | Access::kBindWindow;

constexpr std::array kEventNames{"is asked for a connection", "established", "rejected",
                                 "set-up failed", "disconnected"};

using Event = verbs::ConnectionEvent::Type;
using Kind = Wreck::Kind;

constexpr std::byte kRequestOctet{0x50};
constexpr std::byte kReplyOctet{0x51};

}  // namespace

Host::Host(std::uint32_t seed, bool one_queue)
    : random(seed),
      stags(4096, [this] { return static_cast<std::uint32_t>(random.bits()); }),
      blocks(stags),
      cq(8192, [] {}),
      second_cq(8192, [] {}),
      recv_cq(one_queue ? cq : second_cq),
      srq(1, {.max_wr = 64, .max_sge = 4}, nullptr),
      inbox(blocks.make(kSinkSize, Access::kLocalWrite, kUnusedOctet)) {}

bool Side::has_spoken() const {
  return std::any_of(ops.begin() + static_cast<long>(first), ops.end(),
                     [](const Op& op) { return !op.is_local(); });
}

bool Side::has_received_all() const {
  return std::none_of(ops.begin() + static_cast<long>(next_message), ops.end(),
                      [](const Op& op) { return op.takes_receive(); });
}

World::World(const Plan& p, Story s)
    : plan(p),
      story(s),
      hosts{Host(static_cast<std::uint32_t>(p.seed * 2), p.one_queue),
            Host(static_cast<std::uint32_t>(p.seed * 2 + 1), p.one_queue)} {
  for (const LinkPlan& link_plan : plan.links) {
    Link& link = *links.emplace_back(std::make_unique<Link>());
    link.number = static_cast<std::uint8_t>(links.size() - 1);
    link.plan = &link_plan;
    make_side(link, 0);
    make_side(link, 1);
  }
}

World::~World() {
  for (const auto& link : links) {
    for (Side& side : link->sides) side.qp->abort();
  }
}

void World::make_side(Link& link, std::size_t which) {
  Side& side = link.sides[which];
  Host& host = hosts[which];
  side.host = &host;
  side.signal_all = link.plan->signal_all;
  side.has_srq = link.plan->shared_receives[which];
  verbs::QpInit init{.pd = 1, .send_cq = &host.cq, .recv_cq = &host.recv_cq};
  init.srq = side.has_srq ? &host.srq : nullptr;
  init.limits.max_send_wr = link.plan->max_send_wr;
  init.limits.max_recv_wr = link.plan->max_recv_wr;
  init.signal_all = side.signal_all;
  side.driver = std::make_shared<sim::Driver>(host.stags, now);
  side.qp = std::make_unique<verbs::QueuePair>(
      link.qp_num(), init, host.stags, [this, &link, &side, which](const verbs::AsyncEvent& e) {
        story.tell("       link {} side {}: {} {}", link.number, which, verbs::to_string(e.type),
                   e.terminate ? bytes::to_string(e.terminate->fault) : "");
        if (e.type == verbs::AsyncEventType::kLlpCloseComplete) ++side.closes;
      });
  side.out = host.blocks.make(kSinkSize, Access::kNone, std::byte{0});
  side.sink = host.blocks.make(kSinkSize, Access::kLocalWrite, kUnusedOctet);
  side.inbox = host.blocks.make(kSinkSize, Access::kLocalWrite, kUnusedOctet);
  side.target.use(host.blocks.make(Target::kSize, kTargetAccess, std::byte{0}));
  for (std::size_t i = 0; i < side.opened.size(); ++i) {
    Opened& o = side.opened[i];
    o.is_window = i != 0;
    const auto kind = o.is_window ? verbs::Region::Kind::kWindow : verbs::Region::Kind::kFastRegion;
    o.region = *host.stags.create({.kind = kind, .pd = 1});
  }
}

void World::connect(Link& link, const Session& session) {
  link.session = &session;
  link.is_reset = link.knows_of_reset = link.lacks_receive = link.closes = link.is_damaged = false;
  link.cause.clear();
  ++link.connections;
  if (session.wreck.kind == Kind::kReset || session.wreck.kind == Kind::kHalfClose) {
    link.blame("the network breaks it");
  }
  if (session.time_limit != 0) link.blame("an end waits for a short time only");
  const auto seed = plan.seed * 1000 + link.number * 100 + link.connections * 2;
  link.wires.clear();
  for (std::uint8_t i = 0; i < 2; ++i) {
    Side& side = link.sides[i];
    link.wires.emplace_back(*side.driver, *link.sides[1 - i].driver, session, i, seed + i);
    side.is_established = false;
    side.has_failed = side.has_error = side.receives_flushed = false;
    side.limit = SIZE_MAX;
    side.first = side.placed = side.next_message = side.over;
    side.closes = 0;
    for (std::size_t j = side.over; j < side.ops.size(); ++j) side.ops[j].pushed = 0;
    side.qp->set_peer_timeouts({.answer = std::chrono::milliseconds(session.time_limit)});
    side.driver->open(i == 0 ? mpa::Role::kInitiator : mpa::Role::kResponder, *side.qp,
                      session.options[i]);
  }
  const std::vector data(session.private_data, kRequestOctet);
  require(link.sides[0].connection()->connect(data, now), "a connection was not begun", "");
}

void World::cut(Link& link) {
  link.is_reset = link.knows_of_reset = true;
  for (Side& side : link.sides) side.connection()->lost(now);
}

bool World::turn() {
  ++turns;
  now += kTurn;
  bool moved = false;
  for (const auto& link : links) {
    if (link->session != nullptr) moved |= pump(*link);
  }
  return moved;
}

bool World::pump(Link& link) {
  bool moved = false;
  for (Side& side : link.sides) {
    side.driver->wake();
    const auto before = side.state();
    if (side.driver->expire()) {
      const bool ends = side.state() != before && side.state() != verbs::QpState::kClosing;
      if (ends && link.lacks_receive) link.blame("no receive in time");
      moved = true;
    }
  }
  for (std::size_t i = 0; i < 2; ++i) moved |= transmit(link, i);
  for (std::size_t i = 0; i < 2; ++i) moved |= deliver(link, i);
  for (std::size_t i = 0; i < 2; ++i) receive(link, i);
  return moved;
}

void World::receive(Link& link, std::size_t which) {
  Side& side = link.sides[which];
  const Session& session = *link.session;
  while (const auto event = side.connection()->event()) {
    story.tell("       link {} side {}: {}", link.number, which,
               kEventNames[static_cast<std::size_t>(event->type)]);
    if (event->type == Event::kRequest) {
      const std::vector wanted(session.private_data, kRequestOctet);
      require(std::ranges::equal(side.connection()->startup().peer_private_data(), wanted),
              "private data is not what the peer said", "of the Request");
      const std::vector answer(session.private_data / 2, kReplyOctet);
      const bool done = session.reject ? side.connection()->reject(answer, now)
                                       : side.connection()->accept(*side.qp, answer, session.ird,
                                                                   session.ord, now);
      if (session.reject) link.blame("rejected");
      require(done, "an answer to a Request was not taken", "");
    } else if (event->type == Event::kEstablished) {
      side.is_established = true;
      for (std::size_t i = side.over; i < side.ops.size(); ++i) judge(link, side, i);
    } else if (event->type == Event::kFailed) {
      link.blame("set-up failed");
    }
  }
}

std::size_t World::lacking_receives(Link& link, Side& side) {
  const auto under_way = [](const Side& from) {
    return static_cast<std::size_t>(
        std::count_if(from.ops.begin() + static_cast<long>(from.next_message), from.ops.end(),
                      [](const Op& op) { return op.takes_receive() && !op.is_late; }));
  };
  std::size_t wanted = under_way(link.peer_of(side));
  std::size_t there = side.receives.size();
  if (side.has_srq) {
    wanted = 0;
    for (const auto& other : links) {
      Side& sharing = other->sides[&side == link.sides.data() ? 0 : 1];
      if (sharing.has_srq && other->session != nullptr)
        wanted += under_way(other->peer_of(sharing));
    }
    there = side.host->shared.size();
  }
  return wanted - std::min(wanted, there);
}

void World::judge(Link& link, Side& side, std::size_t index) {
  Op& op = side.ops[index];
  Side& peer = link.peer_of(side);
  if (op.is_refused) link.blame("a program did wrong");
  // If the peer refuses a Read or an atomic, later requests may still take effect.
  const bool ends_all = op.is_local_error || (op.is_refused && !op.is_read() && !op.is_atomic());
  if (ends_all) side.limit = std::min(side.limit, index + (op.is_local_error ? 0 : 1));
  const auto qp = side.qp->query();
  const bool agreed = op.act == Act::kSendImmediate ? qp.send_immediate : qp.extensions;
  if (needs_agreement(op.act) && !agreed) link.blame("what was not agreed on was posted before");
  // A peer with an IRD of 0 refuses Reads and atomics, even if the wire has room for empty Reads.
  const bool no_reads = qp.ord == 0 || link.ird_of(peer) == 0;
  if ((op.is_read() || op.is_atomic()) && no_reads) link.blame("a Read without ORD or IRD");
  const bool gone = (op.local != nullptr && op.local->region == nullptr) ||
                    (op.target != nullptr && op.target != peer.target.block());
  if (gone) link.blame("memory was deregistered");
  if (op.through != nullptr && op.through->state != Opened::State::kOpen) {
    link.blame("what was opened is closed");
  }
  if (op.takes_receive() && lacking_receives(link, peer) != 0) lack_receive(link, peer);
}

// Records that a message to `side` may wait for a receive. If links share an SRQ, this may be a
// message of any of them.
void World::lack_receive(Link& link, Side& side) {
  const std::size_t which = &side == link.sides.data() ? 0 : 1;
  for (const auto& other : links) {
    const bool shares = side.has_srq && other->sides[which].has_srq && other->session != nullptr;
    if (other.get() != &link && !shares) continue;
    other->lacks_receive = true;
    const auto& options = other->session->options[which];
    if (options.receive_hold == verbs::Duration::zero()) other->blame("no receive was posted");
  }
}

bool World::transmit(Link& link, std::size_t from) {
  Wire& wire = link.wires[from];
  const auto n = link.sides[from].driver->transmit(
      link.is_reset ? 0 : wire.window(), [&](bytes::View piece) { put(link, from, piece); });
  require(n == 0 || !wire.fin, "octets behind a FIN", "link {}", link.number);
  if (n != 0) wire.end_segment(turns);
  wire.finish();
  link.is_reset |= wire.reset;
  return n != 0;
}

void World::put(Link& link, std::size_t from, bytes::View piece) {
  Wire& wire = link.wires[from];
  Side& side = link.sides[from];
  const auto inside = [&](Block& b) {
    return piece.data() >= b.data() && piece.data() < b.data() + b.size;
  };
  const auto& startup = side.connection()->startup();
  wire.flips_payload_only = !startup.negotiated().crc ||
                            link.session->options[1 - from].placement == verbs::Placement::kDirect;
  const bool in_place = inside(*side.out) || inside(*side.target.block());
  std::size_t at = 0;
  const bool hit = (!wire.flips_payload_only || in_place) && wire.flips_now(piece.size(), at);
  if (!hit) return wire.put(piece);
  std::vector<std::byte> changed(piece.begin(), piece.end());
  const auto mask = std::byte{1} << wire.wreck().bit;
  changed[at] ^= mask;
  flip(link, from, piece, at, mask);
  wire.put(changed);
}

// If the connection uses CRCs, the stream must end. If it does not use CRCs, or places payload
// before it has checked the CRC, the oracle records which octet of the payload has changed.
void World::flip(Link& link, std::size_t from, bytes::View piece, std::size_t at, std::byte mask) {
  Side& side = link.sides[from];
  Side& peer = link.peer_of(side);
  const bool crc = side.connection()->startup().negotiated().crc;
  story.tell("       link {}: octet flipped on its way from side {}, CRC {}", link.number, from,
             crc ? "on" : "off");
  if (crc) {
    link.blame("a bit was flipped");
    link.is_damaged = true;
  }
  if (!link.wires[from].flips_payload_only) return;
  const auto* const octet = piece.data() + at;
  for (std::size_t i = side.first; i < side.ops.size(); ++i) {
    Op& op = side.ops[i];
    if (op.local == nullptr || !op.carries_payload()) continue;
    const auto* const begin = op.local->data() + op.local_at;
    if (op.is_over || octet < begin || octet >= begin + op.payload.size()) continue;
    const auto offset = static_cast<std::size_t>(octet - begin);
    op.taints.push_back({offset, mask});
    if (op.is_write()) peer.target.taint(op.target_at + offset, mask);
  }
  for (std::size_t i = peer.first; i < peer.ops.size(); ++i) {
    Op& op = peer.ops[i];
    if (!op.is_read() || op.is_over || op.target == nullptr) continue;
    const auto* const begin = op.target->data() + op.target_at;
    if (octet < begin || octet >= begin + op.payload.size()) continue;
    op.taints.push_back({static_cast<std::size_t>(octet - begin), mask});
  }
}

bool World::deliver(Link& link, std::size_t to) {
  Side& side = link.sides[to];
  Wire& wire = link.wires[1 - to];
  auto& connection = *side.connection();
  if (wire.breaks()) link.is_reset = true;
  if (link.is_reset) {
    if (!std::exchange(link.knows_of_reset, true)) {
      link.blame("reset");
      cut(link);
    }
    return false;
  }
  if (wire.deliver(wire.due(turns)) != 0) return true;
  // If the receiver does not read, it does not see the FIN.
  if (connection.receive_plan().empty()) return false;
  if (!wire.ends_here() || wire.over) return !wire.is_empty();
  if (connection.delays_fin()) return false;
  wire.over = true;
  connection.peer_closed(now);
  return true;
}

}  // namespace iwarp::chaos
