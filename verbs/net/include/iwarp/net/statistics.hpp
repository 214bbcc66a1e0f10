// SPDX-License-Identifier: Apache-2.0
// Statistics: the totals of an Rnic and the state of its connections, as data for monitoring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "iwarp/net/address.hpp"
#include "iwarp/verbs/counters.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/incidents.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::net {

/// Why a set-up failed. It is active if this end connects, and passive if the peer connects.
enum class SetupFailure : std::uint8_t {
  kUnreachable,  ///< active: TCP could not be connected, or the name is unknown
  kNoRoom,       ///< passive: a limit of RnicOptions was reached, and no set-up could be evicted
  kGaveWay,      ///< passive: evicted, while its peer was silent, to admit a new set-up
  kBacklogFull,  ///< passive: the application does not poll its requests fast enough
  kTimedOut,     ///< the peer missed the startup deadline
  kReset,        ///< the peer closed or reset TCP
  kProtocol,     ///< no valid MPA Request, Reply or first FPDU, or no acceptable terms
  kCarrier,      ///< the carrier failed: a bad certificate, or a peer without a carrier
  kRejected,     ///< passive: this application rejected it; active: the peer did
  kAbandoned,    ///< dropped or cancelled by this application
};
inline constexpr std::size_t kSetupFailures = 10;  ///< number of reasons
/// Returns the reason in snake case, "timed_out" for example.
const char* to_string(SetupFailure failure);

/// Counts of the active or of the passive set-ups. Each attempt counts, so a connection for which
/// revision 1 has to be tried as well counts twice.
struct SetupStatistics {
  std::uint64_t begun = 0;
  std::uint64_t established = 0;
  std::array<std::uint64_t, kSetupFailures> failed{};  ///< one count for each SetupFailure
  /// Returns how many failed for that reason.
  std::uint64_t failed_by(SetupFailure why) const { return failed[static_cast<std::size_t>(why)]; }
  /// Adds each count of `o`.
  SetupStatistics& operator+=(const SetupStatistics& o);
};

/// Number of Terminates that carried the error `fault`.
struct TerminateCount {
  bytes::Fault fault;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// An established connection that has not ended.
struct ConnectionStatistics {
  verbs::QpNum qp = 0;
  bool is_outgoing = false;  ///< this end connected
  Address local;
  Address peer;
  verbs::Counters counters;
  verbs::Incidents incidents;
};

/// Totals and present state of one or more Rnics.
struct Statistics {
  verbs::Counters counters;                ///< of all connections so far
  SetupStatistics active;                  ///< set-ups in which this end connects
  SetupStatistics passive;                 ///< set-ups in which a peer connects
  verbs::DatagramCounters datagrams;       ///< of all datagram queue pairs so far
  std::uint64_t accept_pauses = 0;         ///< times a listener ran out of descriptors or memory
  std::uint64_t receive_holds = 0;         ///< see verbs::Incidents
  std::uint64_t pins_broken = 0;           ///< see verbs::Incidents
  std::vector<TerminateCount> terminates;  ///< one entry per error, at most kMaxTerminates
  TerminateCount other_terminates;         ///< all Terminates with further errors

  std::size_t pending_setups = 0;    ///< passive set-ups in progress
  std::size_t open_connections = 0;  ///< established connections that have not ended
  std::size_t qps = 0;
  std::size_t cqs = 0;
  std::size_t srqs = 0;
  std::size_t pds = 0;
  std::vector<ConnectionStatistics> connections;  ///< those with the lowest queue pair numbers

  /// This is more than the number of errors that the RFCs define. The limit is necessary because a
  /// peer can send 65536 different ones.
  static constexpr std::size_t kMaxTerminates = 64;
  /// Adds the diagnostic counters of a connection.
  void add(const verbs::Incidents& incidents);
  /// Adds the counts of `o`, but not its `connections`.
  Statistics& operator+=(const Statistics& o);

 private:
  TerminateCount& terminate(const bytes::Fault& fault);
};

}  // namespace iwarp::net
