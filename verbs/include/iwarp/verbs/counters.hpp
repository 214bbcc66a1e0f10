// SPDX-License-Identifier: Apache-2.0
// Counters: the traffic counters of a connection or an Rnic. Counting cannot be switched off. The
// counters are plain integers, which only the thread that drives the connection writes. A snapshot
// is taken with the connection's lock held.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::verbs {

/// Totals since the connection, or the Rnic, was made. counter_names() lists the counters by name.
struct Counters {
  // Data path, octets
  std::uint64_t octets_placed = 0;    ///< octets of inbound payload placed in registered memory
  std::uint64_t octets_copied = 0;    ///< octets that the processor copied inside this process
  std::uint64_t octets_crced = 0;     ///< octets sent and received over which a CRC32c was computed
  std::uint64_t octets_sent = 0;      ///< TCP payload after MPA startup
  std::uint64_t octets_received = 0;  ///< TCP payload after MPA startup
  // MPA, for each direction
  std::uint64_t fpdus_sent = 0;
  std::uint64_t fpdus_received = 0;
  std::uint64_t markers_sent = 0;
  std::uint64_t markers_received = 0;
  std::uint64_t pad_sent = 0;      ///< PAD octets sent
  std::uint64_t pad_received = 0;  ///< PAD octets received
  // System calls by kind, and wake-ups
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t wait_calls = 0;  ///< calls that wait for events, such as epoll_wait(2)
  std::uint64_t wakeups = 0;     ///< number of wake-ups of sleeping application threads and workers
  // Verbs
  /// Completions pushed to completion queues, including flushed ones.
  std::uint64_t completions = 0;
  /// number of times that a region or window was created, or made valid by a request
  std::uint64_t registrations = 0;

  /// Adds each counter of `o`.
  Counters& operator+=(const Counters& o);
};

/// Errors and delays of one connection: diagnostic counters, which are written and read as Counters
/// are.
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
