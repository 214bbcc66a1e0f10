// SPDX-License-Identifier: Apache-2.0
// Peers: LRU cache of the peers of a datagram rsocket and their queue pairs. When it is full, the
// peer that was silent longest is evicted. Peers that the application has sent to are counted apart
// from strangers, whose addresses any host can forge. An evicted peer is asked for its queue pair
// again over UDP. No I/O; validates what strangers send.
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
  Version version{};  ///< that it uses
  std::optional<std::uint32_t> queue_pair;
  bool doubted = false;  ///< data named a different queue pair; only an answer is trusted
  bool asked = false;    ///< we sent it a message over UDP, so it may answer with its queue pair
  bool has_own = false;  ///< `own` was looked up
  Place own;             ///< local address from which it is reached
  bool looked_up_handle = false;
  std::unique_ptr<ibv_ah, DestroyAh> address_handle;  ///< null: it can be reached over UDP only
  std::chrono::steady_clock::time_point answered;
};

class Peers {
 public:
  static constexpr std::size_t kMostWanted = 1024;     ///< peers that the application has sent to
  static constexpr std::size_t kMostStrangers = 1024;  ///< other senders

  using Time = std::chrono::steady_clock::time_point;

  /// Returns null if the peer is not in the cache.
  Peer* find(const Place& place);
  /// Adds a peer that the application sends to. The reference is valid until the next call.
  Peer& want(const Place& place, std::uint32_t scope, Version version);
  /// Adds a peer that sent data over UDP. If the data names another queue pair than the cached one,
  /// no queue pair is known until the peer answers. The reference is valid until the next call.
  Peer& learn(const Place& place, std::uint32_t scope, const UdpHeader& header);
  /// Returns whether this control message answers one of our messages; if so, caches its queue
  /// pair.
  bool take_answer(const Place& place, const UdpHeader& header);
  /// Returns whether to send the peer our queue pair number: the answer must not be longer than
  /// what was `received`, and answers to one peer are rate-limited.
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
