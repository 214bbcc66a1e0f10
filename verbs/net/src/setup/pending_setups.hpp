// SPDX-License-Identifier: Apache-2.0
// PendingSetups: decides which set-ups of unknown peers continue when there are too many. A new one
// is admitted and the oldest unproven one is evicted: a legitimate peer proves itself within
// milliseconds, and an idle one is evicted when its place is needed. No sockets, no clock, no
// locks.
//
// A set-up is unproven while the peer has to send its Request, or the RTR that it agreed on. A
// set-up whose Request is with the application waits for the application and is not evicted; nor is
// one whose peer the application has recognized. Peers on this host count only towards the total:
// all of their processes share an address, and a mesh of them starts at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/net/address.hpp"

namespace iwarp::net {

/// Returns the source that a peer's set-ups count towards: its IPv4 address, or the /64 network of
/// its IPv6 address, because one host may have all addresses of that.
std::string source_of(const Address& peer);

class PendingSetups {
 public:
  using Id = std::uint64_t;
  struct Limits {
    std::size_t total;         ///< proven or not
    std::size_t per_source;    ///< unproven, of one source_of() on another host
    std::size_t per_listener;  ///< unproven, to one local port, from other hosts
  };
  struct Newcomer {
    std::string source;
    std::uint16_t port = 0;
    bool is_local = false;              ///< on this host
    bool short_of_descriptors = false;  ///< one has to be evicted in any case
  };
  struct Verdict {
    std::optional<Id> id;   ///< none: not admitted
    std::vector<Id> leave;  ///< evicted; each stays known until over()
  };

  explicit PendingSetups(const Limits& limits) : limits_(limits) {}

  Verdict admit(const Newcomer& newcomer);
  /// There is no descriptor even for a new connection: returns a set-up to evict; nullopt: there is
  /// none.
  std::optional<Id> make_room();
  /// The application has got the Request of this set-up.
  void asked(Id id);
  /// The application has accepted the set-up of a peer that it has not recognized, and the RTR is
  /// awaited. The set-up counts as new again.
  void accepted(Id id);
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
  bool send_away(const Test& among, std::vector<Id>& leave);
  Setups::iterator find(Id id);

  const Limits limits_;
  Id next_ = 1;
  Setups setups_;  ///< the oldest first
};

}  // namespace iwarp::net
