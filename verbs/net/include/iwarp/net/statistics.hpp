// SPDX-License-Identifier: Apache-2.0
// What an Rnic did so far, and what its connections do now, as data: for whoever watches a program.
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

/// Why there was no connection.
enum class SetupFailure : std::uint8_t {
  kUnreachable,  ///< active: TCP was not connected, or the name not known
  kNoRoom,       ///< passive: max_pending_connects or descriptors, and nobody to give way
  kGaveWay,      ///< passive: silent while newcomers needed its place
  kBacklogFull,  ///< passive: the program does not take its requests fast enough
  kTimedOut,     ///< the peer did not say what was its turn to say
  kReset,        ///< the peer closed or reset TCP
  kProtocol,     ///< no valid MPA Request, Reply or first FPDU, or no terms that both can accept
  kCarrier,      ///< the carrier's own set-up: a certificate, or a peer that has none
  kRejected,     ///< passive: by our program; active: by the peer
  kAbandoned,    ///< by our program, without a word
};
inline constexpr std::size_t kSetupFailures = 10;
const char* to_string(SetupFailure failure);

/// Of one side. Each try of MPA's start-up counts, so two where revision 1 has to be tried as well.
struct SetupStatistics {
  std::uint64_t begun = 0;
  std::uint64_t established = 0;
  std::array<std::uint64_t, kSetupFailures> failed{};  ///< by SetupFailure
  std::uint64_t failed_by(SetupFailure why) const { return failed[static_cast<std::size_t>(why)]; }
  SetupStatistics& operator+=(const SetupStatistics& o);
};

struct TerminateCount {
  bytes::Fault fault;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// An established connection that is not over.
struct ConnectionStatistics {
  verbs::QpNum qp = 0;
  bool is_outgoing = false;  ///< we connected
  Address local;
  Address peer;
  verbs::Counters counters;
  verbs::Incidents incidents;
};

struct Statistics {
  verbs::Counters counters;                ///< of all connections so far
  SetupStatistics active;                  ///< we connect
  SetupStatistics passive;                 ///< peers do
  verbs::DatagramCounters datagrams;       ///< of all queue pairs of datagrams so far
  std::uint64_t accept_pauses = 0;         ///< a listener was out of descriptors or memory
  std::uint64_t receive_holds = 0;         ///< see verbs::Incidents
  std::uint64_t pins_broken = 0;           ///< see verbs::Incidents
  std::vector<TerminateCount> terminates;  ///< by code, at most kMaxTerminates
  TerminateCount other_terminates;         ///< of codes that had no room there

  std::size_t pending_setups = 0;    ///< passive, under way
  std::size_t open_connections = 0;  ///< established and not over
  std::size_t qps = 0;
  std::size_t cqs = 0;
  std::size_t srqs = 0;
  std::size_t pds = 0;
  std::vector<ConnectionStatistics> connections;  ///< the first so many by number of queue pair

  /// More than the RFCs have codes, and peers can make up 65536.
  static constexpr std::size_t kMaxTerminates = 64;
  void add(const verbs::Incidents& incidents);
  /// Another Rnic's; of its connections none.
  Statistics& operator+=(const Statistics& o);

 private:
  TerminateCount& terminate(const bytes::Fault& fault);
};

}  // namespace iwarp::net
