// SPDX-License-Identifier: Apache-2.0
// Statistics: the totals of an Rnic and the state of its connections, as data for monitoring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "iwarp/net/address.hpp"
#include "iwarp/verbs/counters.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::net {

/// Why a set-up failed. A set-up is active if this end connects, and passive if the peer connects.
enum class SetupFailure : std::uint8_t {
  kUnreachable,  ///< active: TCP could not be connected, or the name is unknown
  kNoRoom,       ///< passive: a limit of RnicOptions was reached, and no set-up could be evicted
  kGaveWay,      ///< passive: evicted to admit another set-up, because its peer was silent
  kBacklogFull,  ///< passive: the application polls connection requests too slowly
  kTimedOut,     ///< the peer missed the startup deadline
  kReset,        ///< the peer closed or reset TCP
  kProtocol,     ///< the peer's Request, Reply or first FPDU was invalid or had unacceptable terms
  kCarrier,      ///< the carrier failed, for example because of a bad certificate
  kRejected,   ///< passive: this application rejected the peer; active: the peer rejected this end
  kAbandoned,  ///< this application dropped or cancelled the set-up
};
inline constexpr std::size_t kSetupFailures = 10;  ///< number of values of SetupFailure
/// Returns the reason in snake case, "timed_out" for example.
const char* to_string(SetupFailure failure);
/// Returns the reason as text for a log, "the peer missed the startup deadline" for example.
const char* meaning(SetupFailure failure);

/// Counts of active set-ups, or of passive set-ups. Each attempt counts: a connection that is tried
/// again with revision 1 counts twice.
struct SetupStatistics {
  std::uint64_t begun = 0;
  std::uint64_t established = 0;
  std::array<std::uint64_t, kSetupFailures> failed{};  ///< one count for each SetupFailure
  /// Adds each count of `o`.
  SetupStatistics& operator+=(const SetupStatistics& o);
};

/// The numbers of Terminates, sent and received, that carried the error `fault`.
struct TerminateCount {
  bytes::Fault fault{};
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// An established connection that has not ended.
struct ConnectionStatistics {
  verbs::QpNum qp = 0;
  std::string device{};      ///< verbs::QpInit::device, or empty
  bool is_outgoing = false;  ///< whether this end connected
  Address local{};
  Address peer{};
  std::string congestion{};  ///< TCP congestion control, as in TCP_CONGESTION of tcp(7)
  verbs::Counters counters{};
  verbs::Incidents incidents{};
};

/// Totals and present state of one or more Rnics.
struct Statistics {
  verbs::Counters counters{};  ///< sum over all connections so far
  /// sums over the connections of the queue pairs with the same verbs::QpInit::device, by this name
  std::map<std::string, verbs::Counters, std::less<>> devices{};
  SetupStatistics active{};             ///< set-ups in which this end connects
  SetupStatistics passive{};            ///< set-ups in which a peer connects
  verbs::DatagramCounters datagrams{};  ///< sum over all datagram queue pairs so far
  /// number of times that a listener could not accept because descriptors or memory had run out
  std::uint64_t accept_pauses = 0;
  std::uint64_t receive_holds = 0;           ///< see verbs::Incidents
  std::uint64_t pins_broken = 0;             ///< see verbs::Incidents
  std::vector<TerminateCount> terminates{};  ///< one entry for each error, at most kMaxTerminates
  TerminateCount other_terminates{};  ///< Terminates whose errors have no entry in `terminates`

  std::size_t pending_setups = 0;    ///< passive set-ups in progress
  std::size_t open_connections = 0;  ///< established connections that have not ended
  std::size_t qps = 0;
  std::size_t cqs = 0;
  std::size_t srqs = 0;
  std::size_t pds = 0;
  /// the open connections with the lowest queue pair numbers, see Rnic::statistics()
  std::vector<ConnectionStatistics> connections{};

  /// Maximum size of `terminates`, more than the number of errors that the RFCs define. The limit
  /// is necessary because a peer can send 65536 different errors.
  static constexpr std::size_t kMaxTerminates = 64;
  /// Adds the diagnostic counters of a connection.
  void add(const verbs::Incidents& incidents);
  /// Adds the counts of `o`, but not its `connections`.
  Statistics& operator+=(const Statistics& o);

 private:
  TerminateCount& terminate(const bytes::Fault& fault);
};

}  // namespace iwarp::net
