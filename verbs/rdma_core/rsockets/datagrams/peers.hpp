// SPDX-License-Identifier: Apache-2.0
// Peers: LRU cache of the peers of a datagram rsocket and their queue pairs. When the cache is
// full, the least recently used peer is evicted. The peers to which the application has sent are
// limited separately from other senders. So other senders, whose addresses any host can forge,
// cannot evict a peer to which the application sends. If an evicted peer is needed again, the
// rsocket asks it over UDP for its queue pair again. The functions in this file do no I/O. They
// validate the messages of unknown senders.
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
  UdpAddress place;
  std::uint32_t scope = 0;
  Version version{};  ///< version of the header that the peer uses
  std::optional<std::uint32_t> queue_pair;
  /// Set when the header of a data message contained a queue pair number that differs from
  /// `queue_pair`. After that, only an answer of the peer is trusted.
  bool doubted = false;
  /// Set when a message was sent to the peer over UDP. The peer answers such a message with the
  /// number of its queue pair. An answer is ignored while this member is not set.
  bool asked = false;
  bool has_own = false;  ///< whether the value of `own` was looked up
  UdpAddress own;        ///< the local address from which this host sends to the peer
  bool looked_up_handle = false;
  /// Null if the peer can be reached only over UDP.
  std::unique_ptr<ibv_ah, DestroyAh> address_handle;
  std::chrono::steady_clock::time_point answered;
};

class Peers {
 public:
  /// Maximum number of peers to which the application has sent.
  static constexpr std::size_t kMostWanted = 1024;
  static constexpr std::size_t kMostStrangers = 1024;  ///< maximum number of all other peers

  using Time = std::chrono::steady_clock::time_point;

  /// Returns the peer with this address, or null if it is not in the cache.
  Peer* find(const UdpAddress& place);
  /// Returns a peer to which the application sends. Adds the peer if it is not in the cache. The
  /// reference is valid until the next call.
  Peer& want(const UdpAddress& place, std::uint32_t scope, Version version);
  /// Returns a peer that has sent data over UDP. Adds the peer if it is not in the cache. Caches
  /// the queue pair from the header of the data. If the cache already contains a different queue
  /// pair for this peer, trusts neither until the peer answers. The reference is valid until the
  /// next call.
  Peer& learn(const UdpAddress& place, std::uint32_t scope, const UdpHeader& header);
  /// Returns whether the control message with this header answers a message that this rsocket has
  /// sent. If it does, caches the queue pair from the header.
  bool take_answer(const UdpAddress& place, const UdpHeader& header);
  /// Returns whether this rsocket must answer the peer with the number of its queue pair.
  /// `received` is the length of the peer's message. The rsocket must not answer if its answer
  /// would be longer than that message, or if its previous answer to the same peer was too recent.
  static bool is_to_be_answered(Peer& peer, std::size_t received, Time now);

  std::size_t size() const { return known_.size(); }

 private:
  using Order = std::list<UdpAddress>;  ///< peers, the most recently used one first
  struct Entry {
    Peer peer;
    bool wanted = false;
    Order::iterator at;
  };
  Entry& enter(const UdpAddress& place, bool wanted);
  Order& order_of(bool wanted) { return wanted ? wanted_ : strangers_; }

  std::map<UdpAddress, Entry> known_;
  Order wanted_;
  Order strangers_;
};

}  // namespace iwarp::rdma_core::rsockets
