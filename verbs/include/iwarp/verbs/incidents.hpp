// SPDX-License-Identifier: Apache-2.0
// What happened to a connection that is worth a look, beside the octets that it moved. As Counters:
// written by whoever drives the connection.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::verbs {

struct Incidents {
  std::uint64_t receive_holds = 0;  ///< messages that had to wait for a receive to be posted
  /// Memory was taken away (deregistered, invalidated) while the connection was using it.
  std::uint64_t pins_broken = 0;
  std::optional<bytes::Fault> terminate_sent;  ///< it has left whole
  std::optional<bytes::Fault> terminate_received;
};

}  // namespace iwarp::verbs
