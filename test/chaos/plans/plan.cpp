// SPDX-License-Identifier: Apache-2.0
// Makes a plan from a seed. It contains steps that programs usually take, now and then steps that
// they must not take, and a network that misbehaves in half of the connections.
#include "plan.hpp"

#include "judge/generated/random.hpp"

namespace iwarp::chaos {
namespace {

using std::chrono::milliseconds;

struct Weight {
  Act act;
  unsigned weight;
};
constexpr std::array kWeights{
    Weight{Act::kSend, 16},     Weight{Act::kSendInvalidate, 4}, Weight{Act::kSendImmediate, 4},
    Weight{Act::kImmediate, 4}, Weight{Act::kWrite, 16},         Weight{Act::kWriteImmediate, 4},
    Weight{Act::kRead, 12},     Weight{Act::kReadInvalidate, 3}, Weight{Act::kFetchAdd, 5},
    Weight{Act::kCmpSwap, 5},   Weight{Act::kOpen, 5},           Weight{Act::kLocalInvalidate, 3},
    Weight{Act::kReceive, 12},  Weight{Act::kPass, 30},
};
// Steps that end or disturb a connection. They are rare.
constexpr std::array kEvents{Act::kDisconnect, Act::kDisconnect, Act::kTerminate,
                             Act::kAbort,      Act::kDeregister, Act::kDeregister};

Act pick_act(Random& random) {
  unsigned total = 0;
  for (const Weight& row : kWeights) total += row.weight;
  auto at = random.below(total);
  for (const Weight& row : kWeights) {
    if (at < row.weight) return row.act;
    at -= row.weight;
  }
  return Act::kPass;
}

Step pick_step(Random& random, std::size_t links) {
  Step step;
  step.act = pick_act(random);
  step.link = static_cast<std::uint8_t>(random.below(links));
  step.side = random.one_in(3) ? 1 : 0;
  const std::size_t most = random.one_of(std::array<std::size_t, 6>{8, 64, 64, 300, 3000, 20'000});
  step.size = static_cast<std::uint32_t>(random.below(most + 1));
  if (step.act == Act::kPass) {
    step.size = static_cast<std::uint32_t>(random.between(1, random.one_in(3) ? 20 : 3));
  } else if (step.act == Act::kReceive) {
    step.size = static_cast<std::uint32_t>(random.between(1, 6));
  }
  step.place = static_cast<std::uint32_t>(random.bits());
  step.value = random.bits();
  step.is_signaled = !random.one_in(3);
  step.is_solicited = random.one_in(4);
  step.is_fenced = random.one_in(12);
  step.is_inline = random.one_in(6);
  step.pieces = static_cast<std::uint8_t>(random.between(1, 4));
  return step;
}

mpa::StartupOptions pick_startup(Random& random) {
  mpa::StartupOptions o;
  o.revision = random.one_in(5) ? 1 : 2;
  o.crc = !random.one_in(2);
  o.markers = random.one_in(4);
  o.rtr = random.one_of(std::array{mpa::Rtr::kNone, mpa::Rtr::kNone, mpa::Rtr::kWrite,
                                   mpa::Rtr::kRead, mpa::Rtr::kSend});
  o.rtr_supported = {
      .write = !random.one_in(4), .read = !random.one_in(4), .send = !random.one_in(4)};
  const std::array<std::uint16_t, 6> reads{0, 1, 2, 5, 16, 16};
  o.ird = random.one_of(reads);
  o.ord = random.one_of(reads);
  o.negotiate_ird = !random.one_in(6);
  o.negotiate_ord = !random.one_in(6);
  o.round_ird = !random.one_in(3);
  o.extensions = !random.one_in(5);
  o.send_immediate = !random.one_in(3);
  return o;
}

verbs::ConnectionOptions pick_options(Random& random) {
  verbs::ConnectionOptions o;
  o.startup = pick_startup(random);
  o.placement = random.one_in(3) ? verbs::Placement::kDirect : verbs::Placement::kVerified;
  o.completions = random.one_in(2) ? verbs::Completions::kAcknowledged : verbs::Completions::kSent;
  o.max_ulpdu = random.one_of(std::array<std::size_t, 6>{0, 128, 512, 1460, 9000, 64'768});
  o.stage = random.one_of(std::array<std::size_t, 3>{256 * 1024, 64 * 1024, 128 * 1024});
  o.transmit_batch = random.one_of(std::array<std::size_t, 3>{256 * 1024, 2048, 20'000});
  o.receive_hold = milliseconds(random.one_of(std::array{0, 1000, 60'000, 60'000}));
  o.first_fpdu_delay = milliseconds(random.one_in(6) ? 20 : 0);
  return o;
}

Wreck pick_wreck(Random& random) {
  Wreck w;
  w.kind = random.one_of(std::array{Wreck::Kind::kReset, Wreck::Kind::kFlip, Wreck::Kind::kFlip,
                                    Wreck::Kind::kHalfClose});
  w.from = static_cast<std::uint8_t>(random.below(2));
  const std::size_t most = random.one_of(std::array<std::size_t, 3>{300, 4000, 40'000});
  w.at = static_cast<std::uint32_t>(random.below(most));
  w.bit = static_cast<std::uint8_t>(random.below(8));
  return w;
}

Session pick_session(Random& random) {
  Session s;
  s.options = {pick_options(random), pick_options(random)};
  if (random.one_in(2)) s.options[1] = s.options[0];
  // Each end has its own IRD and ORD. If the ends do not negotiate these values, agree_on_reads()
  // later makes them equal.
  const std::array<std::uint16_t, 4> reads{0, 1, 4, 16};
  s.ird = random.one_of(reads);
  s.ord = random.one_of(reads);
  s.reject = random.one_in(25);
  s.private_data = static_cast<std::uint32_t>(random.one_in(2) ? random.below(400) : 0);
  s.max_segment = static_cast<std::uint32_t>(
      random.one_of(std::array<std::size_t, 6>{100'000, 10'000, 1460, 1460, 300, 60}));
  s.max_delay = static_cast<std::uint32_t>(random.one_in(2) ? random.below(12) : 0);
  for (Stall& stall : s.stalls) {
    if (!random.one_in(5)) continue;
    stall.at = static_cast<std::uint32_t>(random.below(5000));
    stall.turns = static_cast<std::uint32_t>(random.between(1, 200));
  }
  if (random.one_in(3)) s.wreck = pick_wreck(random);
  if (random.one_in(20)) s.time_limit = static_cast<std::uint32_t>(random.between(50, 500));
  return s;
}

// An end must end the stream if it receives more Reads than it expects. In a plan without
// negotiation, both ends therefore use the same number.
void agree_on_reads(Session& s) {
  auto& a = s.options[0].startup;
  auto& b = s.options[1].startup;
  const bool agreed = a.revision == 2 && b.revision == 2 && a.negotiate_ird && a.negotiate_ord &&
                      b.negotiate_ird && b.negotiate_ord;
  if (agreed) return;
  a.ird = a.ord = b.ird = b.ord = s.ird = s.ord = 16;
  a.round_ird = b.round_ird = false;
}

LinkPlan pick_link(Random& random) {
  LinkPlan link;
  for (std::size_t i = random.between(1, 3); i > 0; --i) {
    link.sessions.push_back(pick_session(random));
    agree_on_reads(link.sessions.back());
  }
  link.max_send_wr = static_cast<std::uint32_t>(random.one_of(std::array{4, 16, 64}));
  link.max_recv_wr = static_cast<std::uint32_t>(random.one_of(std::array{4, 16, 64}));
  link.signal_all = random.one_in(6);
  link.shared_receives = {random.one_in(4), random.one_in(4)};
  return link;
}

}  // namespace

Plan make_plan(std::uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  const std::size_t links = random.one_of(std::array<std::size_t, 4>{1, 1, 2, 3});
  for (std::size_t i = 0; i < links; ++i) plan.links.push_back(pick_link(random));
  plan.receive_size =
      static_cast<std::uint32_t>(random.one_of(std::array{16, 300, 300, 2000, 12'000}));
  plan.polls_lazily = random.one_in(4);
  plan.one_queue = random.one_in(2);
  const std::size_t steps = random.between(5, 80);
  for (std::uint8_t i = 0; i < links; ++i) {
    plan.steps.push_back({.act = Act::kReceive, .link = i, .side = 0, .size = 4});
    plan.steps.push_back({.act = Act::kReceive, .link = i, .side = 1, .size = 4});
    plan.steps.push_back({.act = Act::kConnect, .link = i});
    plan.steps.push_back({.act = Act::kPass, .size = random.one_in(4) ? 1U : 20U});
  }
  while (plan.steps.size() < steps) {
    Step step = pick_step(random, links);
    if (random.one_in(150)) {
      step.wrong = random.one_of(
          std::array{Wrong::kRemoteKey, Wrong::kBounds, Wrong::kLocalKey, Wrong::kTooLong});
    }
    if (random.one_in(90)) step.act = random.one_of(kEvents);
    plan.steps.push_back(step);
    if (random.one_in(60)) {
      plan.steps.push_back({.act = Act::kPass, .size = 40});
      plan.steps.push_back({.act = Act::kConnect, .link = step.link, .value = random.bits()});
    }
  }
  return plan;
}

}  // namespace iwarp::chaos
