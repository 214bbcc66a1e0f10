// SPDX-License-Identifier: Apache-2.0
// Runs connections from their start to their end, and checks what must be true at the end.
#include <algorithm>

#include "plans/program.hpp"

namespace iwarp::chaos {
namespace {

using verbs::QpState;
using State = Opened::State;

constexpr int kRounds = 60;
constexpr int kTurnsOfARound = 3000;
constexpr int kStillTurns = 30;  // longer than any link can delay a segment

bool is_still_idle(const Side& side) { return side.state() == QpState::kIdle; }

// Returns whether a request that waits for the next connection will open or invalidate `o`.
bool still_changes(const Side& side, const Opened& o) {
  return std::any_of(side.ops.begin() + static_cast<long>(side.over), side.ops.end(),
                     [&o](const Op& op) { return op.opens == &o || op.ends == &o; });
}

}  // namespace

void Program::connect(Link& link, const Step& step) {
  finish(link);
  for (Side& side : link.sides) {
    const auto error = side.qp->reset();
    require(!error, "a queue pair cannot be used again", "{}", error.message());
    side.reaped = side.over;
  }
  const auto& sessions = link.plan->sessions;
  world_.connect(link, sessions[step.value % sessions.size()]);
}

// Runs until everything that can complete has completed, and then ends every connection.
void Program::settle() {
  story_.tell("{:5}  everything is given time to complete", world_.turns);
  run_dry();
  for (const auto& link : world_.links) {
    if (link->session == nullptr) continue;
    check_quiet(*link);
    if (link->cause.empty() && !link->closes) close_in_order(*link);
  }
  for (const auto& link : world_.links) finish(*link);
  for (const Host& host : world_.hosts) host.blocks.check();
  check_unused();
}

void Program::run_dry() {
  for (int round = 0; round < kRounds && (round == 0 || !all_quiet()); ++round) {
    top_up();
    int still = 0;
    for (int i = 0; i < kTurnsOfARound && still < kStillTurns; ++i) {
      still = world_.turn() ? 0 : still + 1;
      if (!plan_.polls_lazily) world_.poll();
    }
    world_.poll();
    if (round > 2) skip_to_time_out();
  }
}

// Lets the programs catch up. They post receives for all messages, and the initiator sends a
// request, so that the responder may send.
void Program::top_up() {
  for (const auto& link : world_.links) {
    if (link->session == nullptr) continue;
    Side& first = link->sides[0];
    const bool mute = !first.has_spoken() && first.state() == QpState::kRts;
    if (mute && !link->sides[1].is_idle()) {
      post(*link, first, {.act = Act::kWrite, .link = link->number, .size = 0, .place = 1});
    }
    for (Side& side : link->sides) {
      const auto n = world_.lacking_receives(*link, side);
      if (n != 0) receive(*link, side, n);
    }
  }
}

bool Program::is_quiet(Link& link) {
  if (link.session == nullptr || !link.cause.empty()) return true;
  // After a close, an end may stay outside of Idle for a while, so that it can still acknowledge
  // the peer's last requests.
  const auto is_done = [&link](const Side& s) {
    return s.is_idle() && s.has_received_all() && (!link.closes || is_still_idle(s));
  };
  return std::ranges::all_of(link.sides, is_done) && link.wires[0].is_empty() &&
         link.wires[1].is_empty();
}

bool Program::all_quiet() {
  return std::ranges::all_of(world_.links, [this](const auto& link) { return is_quiet(*link); });
}

void Program::skip_to_time_out() {
  std::optional<verbs::TimePoint> first;
  for (const auto& link : world_.links) {
    if (link->session == nullptr) continue;
    for (const Side& side : link->sides) {
      const auto due = side.connection()->timeout();
      if (due && (!first || *due < *first)) first = due;
    }
  }
  if (first && *first > world_.now) world_.now = *first;
}

// If nothing disturbed this connection, checks that all requests are complete and all data is in
// place.
void Program::check_quiet(Link& link) {
  // If the length of an FPDU was damaged, the receiver may wait for octets that never arrive.
  const auto from = link.session->wreck.from;
  const auto sent = link.sides[from].connection()->counters().fpdus_sent;
  const auto taken = link.sides[1 - from].connection()->counters().fpdus_received;
  const bool alive = link.sides[1 - from].state() == QpState::kRts && taken >= sent;
  require(!alive || !link.is_damaged, "damage went unnoticed", "link {}", link.number);
  if (!link.cause.empty()) return;
  for (Side& side : link.sides) {
    const auto wanted = link.closes ? QpState::kIdle : QpState::kRts;
    require(side.state() == wanted && side.is_established, "a connection ended without a cause",
            "link {}: {}", link.number, verbs::to_string(side.state()));
    require(side.is_idle(), "a request never completed", "link {}: {} of {}", link.number,
            side.over, side.ops.size());
    world_.pass_over(link, side, side.ops.size());
    require(side.has_received_all(), "a message never arrived", "link {}", link.number);
    side.target.check_all_placed();
  }
}

void Program::close_in_order(Link& link) {
  Side& side = link.sides[plan_.seed % 2];
  link.closes = true;
  const auto error = side.qp->disconnect();
  require(!error, "a close was refused", "{}", error.message());
  for (int i = 0; i < kTurnsOfARound && link.cause.empty(); ++i) {
    world_.turn();
    world_.poll();
    if (is_still_idle(link.sides[0]) && is_still_idle(link.sides[1])) break;
  }
  for (const Side& s : link.sides) {
    require(is_still_idle(s) && s.closes == 1, "an orderly close did not end in Idle",
            "link {}: {}", link.number, verbs::to_string(s.state()));
  }
}

void Program::finish(Link& link) {
  world_.poll();
  if (link.session == nullptr) return;
  if (link.cause.empty()) ++world_.undisturbed;
  const bool over = is_still_idle(link.sides[0]) && is_still_idle(link.sides[1]);
  if (!over || !link.closes) link.blame("given up");
  world_.cut(link);
  for (Side& side : link.sides) {
    if (!is_still_idle(side)) side.qp->abort();
  }
  world_.poll();
  for (Side& side : link.sides) check_over(link, side);
  for (Side& side : link.sides) finish_side(link, side);
  link.session = nullptr;
}

void Program::check_over(Link& link, Side& side) {
  const auto qp = side.qp->query();
  const bool idle = is_still_idle(side);
  world_.pass_over(link, side, side.ops.size() - (idle ? qp.send_outstanding : 0));
  require(side.has_srq || side.receives.size() == (idle ? qp.recv_outstanding : 0),
          "a receive never completed", "link {}", link.number);
}

void Program::finish_side(Link& link, Side& side) {
  Side& peer = link.peer_of(side);
  const auto limit = std::min(peer.limit, peer.over);
  side.target.check_prefix(peer.ops, peer.first, std::min(peer.placed, limit), limit);
  side.target.adopt();
  for (Opened& o : side.opened) {
    if (still_changes(side, o) || still_changes(peer, o)) continue;
    const bool valid = o.region->valid.load();
    require(valid || o.state != State::kOpen, "what was opened closed by itself", "link {}",
            link.number);
    o.state = valid ? State::kOpen : State::kClosed;
  }
  // The memory may have changed, so the results of the requests that wait for the next connection
  // are predicted again.
  for (std::size_t i = peer.over; i < peer.ops.size(); ++i) predict(side, peer.ops[i]);
}

void Program::check_unused() {
  const auto check = [](Block& block) {
    std::size_t at = 0;
    const auto unused_until = [&](std::size_t end) {
      for (; at < end; ++at) {
        require(block.data()[at] == kUnusedOctet, "a buffer changed that was not in use",
                "octet {}", at);
      }
    };
    for (const auto& [begin, length] : block.used) {
      unused_until(begin);
      at = begin + length;
    }
    unused_until(block.size);
  };
  for (const auto& link : world_.links) {
    for (Side& side : link->sides) {
      check(*side.sink);
      check(*side.inbox);
    }
  }
  for (Host& host : world_.hosts) check(*host.inbox);
}

}  // namespace iwarp::chaos
