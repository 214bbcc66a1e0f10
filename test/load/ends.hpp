// SPDX-License-Identifier: Apache-2.0
// The two ends of the load: a passive one that takes what comes, and an active one that connects
// and works. Each is a process of its own with one Rnic, one completion queue and one receive
// queue.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "figures.hpp"
#include "iwarp/iwarp.hpp"

namespace iwarp::load {

inline constexpr std::size_t kSlot = 64 * 1024;  ///< octets of memory for each working connection

/// What both ends have.
struct End {
  explicit End(std::size_t slots, std::size_t receives);
  net::QpHandle make_qp();
  void post_receive(std::uint64_t id);

  std::unique_ptr<net::Rnic> rnic;
  net::CmChannelHandle cm;
  std::unique_ptr<net::ProtectionDomain> pd;
  std::unique_ptr<net::CompletionChannel> channel;
  net::CqHandle cq;
  net::SrqHandle srq;
  std::vector<std::byte> memory;
  std::vector<std::byte> inbox;
  net::Memory region;
  net::Memory inbox_region;
};

/// Accepts all, receives Sends, ends with what its peer ends. Returns when `shared.stop` is set.
void serve(Shared& shared, std::size_t slots);

/// One connection of the active end.
struct Connection {
  net::QpHandle qp;
  std::optional<std::size_t> slot;  ///< of both ends' memory, once it works
  bool established = false;
  unsigned step = 0;  ///< of its work
  std::uint32_t length = 0;
  Clock::time_point since;  ///< when what is under way began
};

class Client : public End {
 public:
  Client(Shared& shared, std::size_t slots);

  /// Begins one; how it ends is told by take_events().
  Connection& connect();
  /// Until none is being connected. Throws when one fails.
  void settle();
  /// All that is queued; true: there was something. Waits for it at most so long.
  bool take_events(std::chrono::milliseconds timeout);
  void close(Connection& connection);

  std::size_t connecting() const { return connecting_; }
  std::size_t failed() const { return failed_; }
  std::vector<Connection*> established();
  /// One of them, another one each turn; nullptr: there is none.
  Connection* any_established(std::size_t turn);
  /// Called for each that is new, or gone before that with `false`.
  std::function<void(Connection&, bool)> on_connected;

  /// The next step of the connection's work: Write, Read it back and compare, Send; of varying
  /// sizes. Takes completions.
  void work(Connection& connection);
  /// Takes completions and gives those connections their next step. The number of completions.
  std::size_t take_completions(Latencies& latencies, std::chrono::milliseconds timeout);
  std::uint64_t octets() const { return octets_; }
  /// From now on no next step is begun.
  void rest() { resting_ = true; }

 private:
  void step_done(Connection& connection);

  Shared& shared_;
  verbs::Stag rkey_;
  std::uint64_t remote_base_ = 0;
  std::unordered_map<const verbs::QueuePair*, std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint32_t, Connection*> by_number_;
  std::deque<std::size_t> free_slots_;
  std::size_t connecting_ = 0;
  std::size_t failed_ = 0;
  std::size_t next_address_ = 0;
  std::uint64_t octets_ = 0;
  std::uint64_t drawn_ = 1;
  bool resting_ = false;
};

}  // namespace iwarp::load
