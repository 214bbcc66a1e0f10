// SPDX-License-Identifier: Apache-2.0
// Counters: what a connection or an Rnic has done. Always counted. Plain integers, written only by
// the thread that drives the connection; a snapshot is taken under the connection's lock.
#pragma once

#include <cstdint>

namespace iwarp::verbs {

/// Totals since the connection, or the Rnic, was made. counter_names() lists them by name.
struct Counters {
  // Data path, octets
  std::uint64_t octets_placed = 0;    ///< inbound payload placed in registered memory
  std::uint64_t octets_copied = 0;    ///< copied by the processor inside this process
  std::uint64_t octets_crced = 0;     ///< covered by a CRC32c that was computed, both ways
  std::uint64_t octets_sent = 0;      ///< TCP payload after MPA startup
  std::uint64_t octets_received = 0;  ///< TCP payload after MPA startup
  // MPA, each way
  std::uint64_t fpdus_sent = 0;
  std::uint64_t fpdus_received = 0;
  std::uint64_t markers_sent = 0;
  std::uint64_t markers_received = 0;
  std::uint64_t pad_sent = 0;      ///< PAD octets
  std::uint64_t pad_received = 0;  ///< PAD octets
  // System calls by kind, and wake-ups
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t wait_calls = 0;  ///< epoll_wait(2) and the like
  std::uint64_t wakeups = 0;     ///< a sleeping application thread or worker was woken
  // Verbs
  std::uint64_t completions = 0;    ///< pushed to completion queues, flushed ones included
  std::uint64_t registrations = 0;  ///< regions and windows made, or made valid by a request

  /// Adds each counter of `o`.
  Counters& operator+=(const Counters& o);
};

}  // namespace iwarp::verbs
