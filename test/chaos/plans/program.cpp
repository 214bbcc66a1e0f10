// SPDX-License-Identifier: Apache-2.0
// Executes the steps of the programs.
#include "program.hpp"

#include <algorithm>

namespace iwarp::chaos {

std::uint64_t Program::connections() const {
  std::uint64_t n = 0;
  for (const auto& link : world_.links) n += link->connections;
  return n;
}

void Program::run() {
  for (const Step& step : plan_.steps) {
    story_.tell("{:5}  {}", world_.turns, describe(step));
    execute(step);
  }
  settle();
}

void Program::execute(const Step& step) {
  Link& link = *world_.links[step.link];
  Side& side = link.sides[step.side];
  switch (step.act) {
    case Act::kPass:
      return pass(step.size);
    case Act::kReceive:
      return receive(link, side, step.size);
    case Act::kConnect:
      return connect(link, step);
    case Act::kDeregister:
      return deregister(link, side, step);
    case Act::kDisconnect:
    case Act::kTerminate:
    case Act::kAbort:
      return end(link, side, step.act);
    default:
      return post(link, side, step);
  }
}

void Program::pass(std::uint32_t turns) {
  for (std::uint32_t i = 0; i < turns; ++i) {
    world_.turn();
    if (!plan_.polls_lazily) world_.poll();
  }
  world_.poll();
}

void Program::receive(Link& link, Side& side, std::size_t count) {
  Host& host = *side.host;
  Block* const block = side.has_srq ? host.inbox : side.inbox;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = block->take(plan_.receive_size);
    if (!at) return;
    const Receive r{.id = kReceiveId | host.next_receive,
                    .block = block,
                    .at = *at,
                    .size = plan_.receive_size};
    const std::size_t half = r.size / 2;
    const std::array list{block->sge(*at, half, block->stag()),
                          block->sge(*at + half, r.size - half, block->stag())};
    const verbs::RecvWr wr{.wr_id = r.id, .sgl = list};
    // The receive is recorded before it is posted, because post_recv() may flush it immediately.
    if (!side.has_srq) side.receives.push_back(r);
    const auto error = side.has_srq ? host.srq.post_recv(wr) : side.qp->post_recv(wr);
    if (error) {
      const auto limit = side.has_srq ? host.srq.limits().max_wr : link.plan->max_recv_wr;
      const auto posted = side.has_srq ? host.srq.size() : side.receives.size() - 1;
      require(error == verbs::Errc::kQueueFull && posted >= limit, "a receive was refused",
              "{}, {} are posted", error.message(), posted);
      if (!side.has_srq) side.receives.pop_back();
      return block->give_back(*at);
    }
    ++host.next_receive;
    if (side.has_srq) host.shared[r.id] = r;
  }
}

// A close is orderly only if the peer has no outstanding requests and this end can still send all
// of its own requests.
void Program::note_end(Link& link, Side& side) {
  Side& peer = link.peer_of(side);
  const bool is_mute = &side == &link.sides[1] && !link.sides[0].has_spoken();
  if (!side.is_established || !peer.is_established) link.blame("closed during set-up");
  if (!peer.is_idle() || (is_mute && !side.is_idle()))
    link.blame("closed while work was under way");
  if (world_.lacking_receives(link, side) != 0) {
    link.blame("closed while a message waited for a receive");
  }
  link.closes = true;
}

void Program::end(Link& link, Side& side, Act act) {
  world_.poll();
  if (link.session == nullptr) return;
  if (act == Act::kDisconnect) {
    if (side.state() != verbs::QpState::kRts) return;
    if (link.closes) link.blame("closed by both");
    note_end(link, side);
    const auto error = side.qp->disconnect();
    require(!error, "a close was refused", "{}", error.message());
  } else if (act == Act::kTerminate) {
    if (side.state() != verbs::QpState::kRts) return;
    link.blame("ended by a Terminate");
    const auto error = side.qp->terminate();
    require(!error, "a Terminate was refused", "{}", error.message());
  } else {
    link.blame("aborted");
    side.qp->abort();
  }
}

void Program::deregister(Link& link, Side& side, const Step& step) {
  world_.poll();
  const auto which = step.place % 3;
  Block* const old = which == 0 ? side.target.block() : which == 1 ? side.out : side.sink;
  Side& peer = link.peer_of(side);
  const auto in_use = [](const Opened& o) { return o.state != Opened::State::kClosed; };
  const bool opened = which == 0 && std::ranges::any_of(side.opened, in_use);
  const bool aliased =
      which == 2 && std::any_of(side.ops.begin() + static_cast<long>(side.over), side.ops.end(),
                                [](const Op& op) { return op.sink_alias != nullptr; });
  if (opened || aliased) return;
  Access access = old->region->access;
  const std::size_t size = old->size;
  if (!old->used.empty() || !peer.is_idle() || peer.placed < peer.ops.size()) {
    link.blame("memory was deregistered");
  }
  const auto error = side.host->stags.destroy(old->region, [&](verbs::Region& r) {
    for (const auto& l : world_.links) {
      if (l->session == nullptr) continue;
      l->sides[&side == link.sides.data() ? 0 : 1].connection()->revoke(r, world_.now);
    }
  });
  require(!error, "a region could not be deregistered", "{}", error.message());
  world_.poll();
  if (which == 0) {
    const auto limit = std::min(peer.limit, peer.ops.size());
    side.target.check_prefix(peer.ops, peer.first, std::min(peer.placed, limit), limit);
  }
  side.host->blocks.retire(*old);
  Block* const fresh =
      side.host->blocks.make(size, access, which == 2 ? kUnusedOctet : std::byte{0});
  if (which == 0) side.target.use(fresh);
  if (which == 1) side.out = fresh;
  if (which == 2) side.sink = fresh;
}

}  // namespace iwarp::chaos
