// SPDX-License-Identifier: Apache-2.0
// Incidents: diagnostic counters of a connection, in addition to the traffic counted in Counters.
// The thread that drives the connection writes these counters; a snapshot is taken under the
// connection's lock.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::verbs {

/// Errors and delays of one connection.
struct Incidents {
  std::uint64_t receive_holds = 0;  ///< messages that had to wait for a receive to be posted
  /// How often memory was deregistered or invalidated while the connection was using it.
  std::uint64_t pins_broken = 0;
  /// fault in the Terminate of this end, if it sent one
  std::optional<bytes::Fault> terminate_sent{};
  /// fault in the peer's Terminate, if one arrived
  std::optional<bytes::Fault> terminate_received{};
};

}  // namespace iwarp::verbs
