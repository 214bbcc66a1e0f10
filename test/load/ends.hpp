// SPDX-License-Identifier: Apache-2.0
// The two ends of the load: a passive end that accepts connections and serves them, and an active
// end that connects and does the work. Each is a process with one Rnic, one completion queue and
// one receive queue.
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

inline constexpr std::size_t kSlot = 64 * 1024;  ///< bytes of memory for each busy connection

/// The objects that each end has.
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

/// Accepts every request, receives Sends, and closes each connection that the peer has closed.
/// Returns when `shared.stop` is set.
void serve(Shared& shared, std::size_t slots);

/// One connection of the active end.
struct Connection {
  net::QpHandle qp;
  /// Index of the connection's slot in the memory of both ends. nullopt while the connection does
  /// no work.
  std::optional<std::size_t> slot;
  bool established = false;
  unsigned step = 0;  ///< number of the next step
  std::uint32_t length = 0;
  Clock::time_point since;  ///< when the outstanding operation was started
};

class Client : public End {
 public:
  Client(Shared& shared, std::size_t slots);

  /// Starts a connection; take_events() reports the result.
  Connection& connect();
  /// Waits until no connection is being set up. Throws if one fails.
  void settle();
  /// Handles all queued events. Waits at most `timeout` for the first event. Returns whether there
  /// was an event.
  bool take_events(std::chrono::milliseconds timeout);
  void close(Connection& connection);

  std::size_t connecting() const { return connecting_; }
  std::size_t failed() const { return failed_; }
  std::vector<Connection*> established();
  /// Returns an established connection, or nullptr if there is none. Each `turn` selects a
  /// different connection.
  Connection* any_established(std::size_t turn);
  /// Called with `true` for each connection that is established, and with `false` for each
  /// connection that fails before that.
  std::function<void(Connection&, bool)> on_connected;

  /// Starts the next step of the connection's work: a Write, a Read whose result is compared with
  /// the written data, or a Send. Sizes vary. Consumes completions.
  void work(Connection& connection);
  /// Consumes completions and starts the next step of their connections. Returns the number of
  /// completions.
  std::size_t take_completions(Latencies& latencies, std::chrono::milliseconds timeout);
  std::uint64_t octets() const { return octets_; }
  /// Stops the work: no new steps are started after this call.
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
