// SPDX-License-Identifier: Apache-2.0
// Peers: whom a datagram rsocket knows, and the queue pair of each. There is room for so many: who
// was not heard of for the longest time is forgotten, first those that the program never sent to,
// which anybody can make up. Who is forgotten is asked again by UDP. No I/O; what strangers say is
// judged here.
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
  Version version{};  ///< that it speaks
  std::optional<std::uint32_t> queue_pair;
  bool doubted = false;  ///< data named another one than it had; only its answer is believed
  bool asked = false;    ///< it was sent a message by UDP, so that it may say its queue pair
  bool has_own = false;  ///< what follows was looked for
  Place own;             ///< from where
  bool looked_for_way = false;
  std::unique_ptr<ibv_ah, DestroyAh> way;  ///< null: it is reached by UDP only
  std::chrono::steady_clock::time_point answered;
};

class Peers {
 public:
  static constexpr std::size_t kMostWanted = 1024;     ///< that the program sent to
  static constexpr std::size_t kMostStrangers = 1024;  ///< that it did not

  using Time = std::chrono::steady_clock::time_point;

  /// Null: not known.
  Peer* find(const Place& place);
  /// Whom the program sends to. Good until the next call.
  Peer& want(const Place& place, std::uint32_t scope, Version version);
  /// Who sent data by UDP. If another queue pair was known, none is until it answers. Good until
  /// the next call.
  Peer& learn(const Place& place, std::uint32_t scope, const UdpHeader& header);
  /// Whether this control message was asked for; then its queue pair is known.
  bool take_answer(const Place& place, const UdpHeader& header);
  /// Whether it is to be told our queue pair: it gets no more octets than it sent, and not again at
  /// once.
  static bool is_to_be_answered(Peer& peer, std::size_t received, Time now);

  std::size_t size() const { return known_.size(); }

 private:
  using Order = std::list<Place>;  ///< the latest first
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
