// SPDX-License-Identifier: Apache-2.0
// Peers: finds, adds and evicts peers, and decides which answers of peers are accepted, and how
// often a peer is answered.
#include "rsockets/datagrams/peers.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

// The minimum time between two answers to one peer. The peer may send more messages before the
// first answer reaches it, and these need no further answers.
constexpr auto kBetweenAnswers = std::chrono::milliseconds(5);

void set_queue_pair(Peer& peer, const UdpHeader& header) {
  peer.version = header.version;
  peer.queue_pair = header.queue_pair;
}

}  // namespace

Peer* Peers::find(const UdpAddress& place) {
  const auto it = known_.find(place);
  return it != known_.end() ? &it->second.peer : nullptr;
}

// Finds or adds the entry of a peer, and makes it the most recent one. Once the application has
// sent to a peer, the entry of the peer remains `wanted`.
Peers::Entry& Peers::enter(const UdpAddress& place, bool wanted) {
  if (const auto it = known_.find(place); it != known_.end()) {
    Entry& entry = it->second;
    const bool both = wanted || entry.wanted;
    order_of(both).splice(order_of(both).begin(), order_of(entry.wanted), entry.at);
    entry.wanted = both;
    return entry;
  }
  Order& order = order_of(wanted);
  order.push_front(place);
  Entry& entry = known_[place];
  entry.peer.place = place;
  entry.wanted = wanted;
  entry.at = order.begin();
  return entry;
}

Peer& Peers::want(const UdpAddress& place, std::uint32_t scope, Version version) {
  Entry& entry = enter(place, true);
  if (entry.peer.version == Version{}) entry.peer.version = version;
  if (scope != 0) entry.peer.scope = scope;
  if (wanted_.size() > kMostWanted) {
    known_.erase(wanted_.back());
    wanted_.pop_back();
  }
  return entry.peer;
}

Peer& Peers::learn(const UdpAddress& place, std::uint32_t scope, const UdpHeader& header) {
  Peer& peer = enter(place, false).peer;
  peer.scope = scope;
  // If the queue pair in the header is not the one in the cache, trusts neither of the two until
  // the peer answers, because any host can forge a header with the peer's address.
  const bool is_other = peer.queue_pair && *peer.queue_pair != header.queue_pair;
  peer.doubted = peer.doubted || is_other;
  if (is_other) peer.queue_pair.reset();
  if (!peer.queue_pair && !peer.doubted) set_queue_pair(peer, header);
  if (strangers_.size() > kMostStrangers) {
    known_.erase(strangers_.back());
    strangers_.pop_back();
  }
  return peer;
}

bool Peers::take_answer(const UdpAddress& place, const UdpHeader& header) {
  Peer* const peer = find(place);
  if (peer == nullptr || !peer->asked) return false;
  set_queue_pair(*peer, header);
  peer->asked = peer->doubted = false;
  return true;
}

bool Peers::is_to_be_answered(Peer& peer, std::size_t received, Time now) {
  if (udp_header_size(peer.version) > received || now - peer.answered < kBetweenAnswers) {
    return false;
  }
  peer.answered = now;
  return true;
}

}  // namespace iwarp::rdma_core::rsockets
