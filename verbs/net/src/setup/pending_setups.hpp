// SPDX-License-Identifier: Apache-2.0
// PendingSetups: decides which inbound set-ups continue when there are too many. At a limit, it
// admits a new set-up and evicts the oldest unproven set-up. A legitimate peer completes its part
// of the set-up within milliseconds, so that eviction affects mainly idle peers. Uses no sockets,
// clock or locks.
//
// A set-up is unproven while the peer still has to send its Request, or the RTR to which it has
// agreed. Two kinds of set-ups are not evicted: those whose Request the application has received
// and not answered, and those whose peer the application has recognized. Peers on this host count
// only towards the total: all processes of the host share an address, and many of them may connect
// to each other at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/net/address.hpp"

namespace iwarp::net {

/// Returns the source for which Limits::per_source counts the set-ups of a peer: the peer's IPv4
/// address, or the /64 network of its IPv6 address, because one host may own all addresses of a
/// /64.
std::string source_of(const Address& peer);

class PendingSetups {
 public:
  using Id = std::uint64_t;
  struct Limits {
    std::size_t total;  ///< limit for all set-ups, proven or not
    /// limit for unproven set-ups of one source (see source_of()) on another host
    std::size_t per_source;
    std::size_t per_listener;  ///< limit for unproven set-ups to one local port, from other hosts
  };
  struct Newcomer {
    std::string source;
    std::uint16_t port = 0;
    bool is_local = false;  ///< whether the peer is on this host
    /// Number of set-ups to evict, because descriptors are short. Those that have been evicted but
    /// are not over count. If there are too few, the newcomer needs one that is evicted for it.
    std::size_t to_evict = 0;
  };
  struct Verdict {
    std::optional<Id> id;   ///< id of the newcomer, or nullopt if it is not admitted
    std::vector<Id> leave;  ///< set-ups to evict; each of them counts as pending until over()
  };

  explicit PendingSetups(const Limits& limits) : limits_(limits) {}

  Verdict admit(const Newcomer& newcomer);
  /// Returns set-ups to evict: `count`, less those that have been evicted but are not over, or
  /// fewer if no more can be evicted.
  std::vector<Id> make_room(std::size_t count);
  /// Call when the application has received the Request of this set-up.
  void request_arrived(Id id);
  /// Call when the application has accepted an unrecognized peer whose RTR has not arrived. The
  /// set-up then becomes unproven again, and counts as the newest one.
  void accepted(Id id);
  /// Removes a set-up that is established or has ended.
  void over(Id id);
  std::size_t size() const { return setups_.size(); }

 private:
  struct Setup {
    Id id;
    std::string source;
    std::uint16_t port;
    bool is_local;
    bool is_unproven = true;
    bool leaves = false;
  };
  using Setups = std::vector<Setup>;
  using Test = std::function<bool(const Setup&)>;

  bool keep_below(std::size_t limit, const Test& counts, std::vector<Id>& leave);
  bool keep_leaving(std::size_t count, std::vector<Id>& leave);
  bool send_away(const Test& among, std::vector<Id>& leave);
  Setups::iterator find(Id id);

  const Limits limits_;
  Id next_ = 1;
  Setups setups_;  ///< sorted by age, the oldest set-up first
};

}  // namespace iwarp::net
