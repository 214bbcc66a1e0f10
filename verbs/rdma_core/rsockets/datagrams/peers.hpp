// SPDX-License-Identifier: Apache-2.0
// Peers: LRU cache of the peers of a datagram rsocket and their queue pairs. When the cache is
// full, it evicts the peer that was silent longest. Peers to which the application has sent have a
// limit of their own, so that strangers, whose addresses any host can forge, cannot evict them. If
// an evicted peer is needed again, the rsocket learns its queue pair again over UDP. The code does
// no I/O, and validates messages from strangers.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "rsockets/datagrams/wire.hpp"

namespace iwarp::rdma_core::rsockets {

struct DestroyAh {
  void operator()(ibv_ah* ah) const { ibv_destroy_ah(ah); }
};

struct Peer {
  Place place;
  std::uint32_t scope = 0;
  Version version{};  ///< header version that the peer uses
  std::optional<std::uint32_t> queue_pair;
  /// Set when data contained a different queue pair. Only an answer of the peer is trusted then.
  bool doubted = false;
  /// Set when a message was sent to the peer over UDP, so that the peer may answer with its queue
  /// pair.
  bool asked = false;
  bool has_own = false;  ///< whether `own` was looked up
  Place own;             ///< local address from which this host sends to the peer
  bool looked_up_handle = false;
  /// null: the peer can be reached only over UDP
  std::unique_ptr<ibv_ah, DestroyAh> address_handle;
  std::chrono::steady_clock::time_point answered;
};

class Peers {
 public:
  static constexpr std::size_t kMostWanted = 1024;     ///< peers that the application has sent to
  static constexpr std::size_t kMostStrangers = 1024;  ///< other senders

  using Time = std::chrono::steady_clock::time_point;

  /// Returns the peer with this address, or null if it is not in the cache.
  Peer* find(const Place& place);
  /// Adds a peer to which the application sends, unless it is in the cache. The reference is valid
  /// until the next call.
  Peer& want(const Place& place, std::uint32_t scope, Version version);
  /// Adds a peer that sent data over UDP, unless it is in the cache. Caches the queue pair in the
  /// header of the data. If this differs from the cached one, forgets both until the peer answers.
  /// The reference is valid until the next call.
  Peer& learn(const Place& place, std::uint32_t scope, const UdpHeader& header);
  /// Returns whether this control message answers a message that this rsocket has sent. If so,
  /// caches the queue pair in its header.
  bool take_answer(const Place& place, const UdpHeader& header);
  /// Returns whether to answer the peer with the number of this rsocket's queue pair. The answer
  /// must not be longer than the message that was `received`, and answers to one peer are
  /// rate-limited.
  static bool is_to_be_answered(Peer& peer, std::size_t received, Time now);

  std::size_t size() const { return known_.size(); }

 private:
  using Order = std::list<Place>;  ///< most recent first
  struct Entry {
    Peer peer;
    bool wanted = false;
    Order::iterator at;
  };
  Entry& enter(const Place& place, bool wanted);
  Order& order_of(bool wanted) { return wanted ? wanted_ : strangers_; }

  std::map<Place, Entry> known_;
  Order wanted_;
  Order strangers_;
};

}  // namespace iwarp::rdma_core::rsockets
