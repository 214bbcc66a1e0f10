// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks that measure a host's parameters. Each returns the median and the spread of
// several rounds, and throws Error naming what is missing if this machine does not permit it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/offload_model/statistics.hpp"

namespace iwarp::apps::cost {

/// In nanoseconds per unit that the benchmark counts.
using offload_model::Sample;

/// Returns the median and the spread of `rounds` results.
Sample sample(const std::function<double()>& once, int rounds = 9);
/// Returns the processor time of this thread for one of `times` calls, in nanoseconds.
double time_of(const std::function<void()>& call, std::uint64_t times);

// Memory: per octet
// --------------------------------------------------------------------------------
/// Measures copies of 4 KiB pieces over a working set of `octets` bytes.
Sample bench_copy(std::size_t octets);
/// Measures CRC32c over pieces of 1448 bytes.
Sample bench_crc(const crc32c::Kernel& kernel);
/// Sizes of the second and third level cache in bytes; estimates if the system does not report
/// them.
struct CacheSizes {
  std::size_t second;
  std::size_t third;
};
CacheSizes cache_sizes();

// The system
// ---------------------------------------------------------------------------------------
/// Measures the cheapest system call.
Sample bench_syscall();
/// Measures the processor time of both sides for one wake-up: two processes that sleep in turn, on
/// two processors if `other`.
Sample bench_wakeup(bool other);
/// Returns the time of `call` when the kernel moves some bytes over TCP between any two calls, as
/// in a transfer, minus the time for that. In a loop of its own, the code would always be in the
/// nearest caches.
double time_between_calls(const std::function<void()>& call, std::uint64_t times);
/// Measures one more element of a gather list.
Sample bench_iovec();
/// The cost of registering memory with io_uring, which pins its pages as a driver would.
struct Pinning {
  Sample fixed, page, release_fixed, release_page;
};
Pinning bench_pinning();
/// Measures the driver's work per packet and side: TCP over a veth pair between two network
/// namespaces, small packets against large ones, without segmentation offload. Requires permission
/// to create namespaces.
Sample bench_packet();

// This stack, in memory
// ----------------------------------------------------------------------------
struct Framing {
  Sample fpdu;     ///< building or parsing an FPDU
  Sample marker;   ///< inserting or removing a marker
  Sample message;  ///< cost of a message besides its FPDUs, at both ends together
};
Framing bench_framing();
/// Measures posting, driving and completing a request on a live connection that sends nothing: a
/// fast registration or a local invalidate.
Sample bench_request();
/// Returns both ends' work for a message besides its FPDUs, in nanoseconds. The in-memory work of
/// the posting end, half of the cost of a message there, is part of the request already.
double request_cost(const Sample& request, const Framing& framing);

}  // namespace iwarp::apps::cost
