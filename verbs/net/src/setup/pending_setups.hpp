// SPDX-License-Identifier: Apache-2.0
// PendingSetups: which set-ups of unknown peers go on when there are too many. A newcomer is let in
// and the oldest unproven one gives way: who means it proves so within milliseconds, and who does
// not holds his place only until others want it. No sockets, no clock, no locks.
//
// A set-up is unproven while the peer has to say something: its Request, or the RTR that it agreed
// on. One whose Request is with the program waits for the program, and is not made to give way, nor
// is one that the program has recognized. Peers on this host count to the total alone: all of their
// processes share an address, and a mesh of them starts at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/net/address.hpp"

namespace iwarp::net {

/// Whose share a peer's set-ups count to: its IPv4 address, or the /64 network of its IPv6 address,
/// of which one host may have all addresses.
std::string source_of(const Address& peer);

class PendingSetups {
 public:
  using Id = std::uint64_t;
  struct Limits {
    std::size_t total;         ///< proven or not
    std::size_t per_source;    ///< unproven, of one source_of() on another host
    std::size_t per_listener;  ///< unproven, to one port of ours from other hosts
  };
  struct Newcomer {
    std::string source;
    std::uint16_t port = 0;
    bool is_local = false;              ///< on this host
    bool short_of_descriptors = false;  ///< one has to give way in any case
  };
  struct Verdict {
    std::optional<Id> id;   ///< none: not admitted
    std::vector<Id> leave;  ///< these give way; each stays known until over()
  };

  explicit PendingSetups(const Limits& limits) : limits_(limits) {}

  Verdict admit(const Newcomer& newcomer);
  /// There is no descriptor even for a newcomer: who gives way?
  std::optional<Id> make_room();
  /// Its Request is with the program.
  void asked(Id id);
  /// The program has accepted it unrecognized, and its RTR is awaited. Counts as young again.
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
