// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of what a host's parameters stand for. Each gives a median and a spread over
// some rounds; what this machine does not permit is an Error that says what is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/offload_model/statistics.hpp"

namespace iwarp::apps::cost {

/// In nanoseconds, of whatever the benchmark counts.
using offload_model::Sample;

/// Median and spread of `rounds` results.
Sample sample(const std::function<double()>& once, int rounds = 9);
/// Processor time of this thread that one of `times` calls takes, in nanoseconds.
double time_of(const std::function<void()>& call, std::uint64_t times);

// Memory: per octet
// --------------------------------------------------------------------------------
/// Copies of 4 KiB pieces over a working set of `octets`.
Sample bench_copy(std::size_t octets);
/// Over pieces of 1448 octets.
Sample bench_crc(const crc32c::Kernel& kernel);
/// Sizes of the second and third level of cache in octets; guesses where the system does not say.
struct CacheSizes {
  std::size_t second;
  std::size_t third;
};
CacheSizes cache_sizes();

// The system
// ---------------------------------------------------------------------------------------
/// The cheapest system call.
Sample bench_syscall();
/// Processor time of both sides for one wake-up: two processes that sleep in turn. `other`: on two
/// processors.
Sample bench_wakeup(bool other);
/// `call` between any two of which the kernel moves some octets over TCP, as in a transfer, less
/// what that takes: alone in a loop, code would find everything in the nearest caches.
double time_between_calls(const std::function<void()>& call, std::uint64_t times);
/// One more element of a gather list.
Sample bench_iovec();
/// Registering memory with io_uring: pins its pages as a driver would.
struct Pinning {
  Sample fixed, page, release_fixed, release_page;
};
Pinning bench_pinning();
/// Driver's work per packet and side: TCP over a veth pair between two network namespaces, small
/// packets against large ones, without segmentation offload. Needs the right to make namespaces.
Sample bench_packet();

// This stack, in memory
// ----------------------------------------------------------------------------
struct Framing {
  Sample fpdu;     ///< building or parsing one
  Sample marker;   ///< putting in or taking out one
  Sample message;  ///< what a message costs beside its FPDUs, at both ends together
};
Framing bench_framing();
/// Posting, driving and completing a request on a live connection that sends nothing: a fast
/// registration or a local invalidate.
Sample bench_request();
/// Both ends' work for a message beside its FPDUs, in nanoseconds. What the posting end does in
/// memory, half of a message's cost there, is in the request already.
double request_cost(const Sample& request, const Framing& framing);

}  // namespace iwarp::apps::cost
