// SPDX-License-Identifier: Apache-2.0
// Incidents: diagnostic counters of a connection, beside the traffic counted in Counters. Written
// by the thread that drives the connection; a snapshot is taken under its lock.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::verbs {

/// What went wrong, or nearly, on one connection.
struct Incidents {
  std::uint64_t receive_holds = 0;  ///< messages that had to wait for a receive to be posted
  /// How often memory was deregistered or invalidated while the connection was using it.
  std::uint64_t pins_broken = 0;
  std::optional<bytes::Fault> terminate_sent;      ///< its last octet has been sent
  std::optional<bytes::Fault> terminate_received;  ///< what the peer's Terminate says
};

}  // namespace iwarp::verbs
