// SPDX-License-Identifier: Apache-2.0
// What a connection or an Rnic did, always counted. Written only by whoever drives the connection,
// plain integers; a snapshot is taken under the connection's lock.
#pragma once

#include <cstdint>

namespace iwarp::verbs {

struct Counters {
  // Data path, octets
  std::uint64_t octets_placed = 0;  ///< inbound payload put into registered memory
  std::uint64_t octets_copied = 0;  ///< moved by the processor inside this process
  std::uint64_t octets_crced = 0;
  std::uint64_t octets_sent = 0;  ///< TCP payload
  std::uint64_t octets_received = 0;
  // MPA, each way
  std::uint64_t fpdus_sent = 0;
  std::uint64_t fpdus_received = 0;
  std::uint64_t markers_sent = 0;
  std::uint64_t markers_received = 0;
  std::uint64_t pad_sent = 0;
  std::uint64_t pad_received = 0;
  // System calls by kind, and wake-ups
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::uint64_t wait_calls = 0;  ///< epoll_wait and the like
  std::uint64_t wakeups = 0;     ///< a sleeping consumer or worker was woken
  // Verbs
  std::uint64_t completions = 0;
  std::uint64_t registrations = 0;

  Counters& operator+=(const Counters& o);
};

}  // namespace iwarp::verbs
