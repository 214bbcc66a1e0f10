// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks that measure the parameters of a host. Each returns the median and the spread of
// several rounds. If this machine does not permit it, it throws Error that says what is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/offload_model/statistics.hpp"

namespace iwarp::apps::cost {

/// A result in nanoseconds per unit that the benchmark counts.
using offload_model::Sample;

/// Calls `once` for each of `rounds` rounds, and returns the median and the spread of the results.
Sample sample(const std::function<double()>& once, int rounds = 9);
/// Calls `call` `times` times. Returns the processor time of this thread per call, in nanoseconds.
double time_of(const std::function<void()>& call, std::uint64_t times);

// Memory: per octet
// --------------------------------------------------------------------------------
/// Measures copies of 4 KiB pieces over a working set of `octets` bytes.
Sample bench_copy(std::size_t octets);
/// Measures CRC32c over pieces of 1448 bytes.
Sample bench_crc(const crc32c::Kernel& kernel);
/// Sizes of the second and third level cache in bytes. If the system does not report them, they are
/// estimates.
struct CacheSizes {
  std::size_t second;
  std::size_t third;
};
CacheSizes cache_sizes();

// The system
// ---------------------------------------------------------------------------------------
/// Measures the cheapest system call.
Sample bench_syscall();
/// Measures the processor time that both sides use for one wake-up: two processes sleep in turn, on
/// two processors if `other` is true.
Sample bench_wakeup(bool other);
/// Returns the processor time of `call` when the kernel transfers some bytes over TCP between any
/// two calls, as in a real transfer; the time for these bytes is subtracted. If `call` were
/// measured in a loop of its own, its code would always be in the nearest caches.
double time_between_calls(const std::function<void()>& call, std::uint64_t times);
/// Measures the cost of one additional element in a gather list.
Sample bench_iovec();
/// The cost of registering memory with io_uring, which pins the pages as a driver would.
struct Pinning {
  Sample fixed, page, release_fixed, release_page;
};
Pinning bench_pinning();
/// Measures the driver's work per packet and side over a veth pair between two network namespaces:
/// sends the same data by TCP in small and in large packets, without segmentation offload. Requires
/// permission to create namespaces.
Sample bench_packet();

// This stack, in memory
// ----------------------------------------------------------------------------
struct Framing {
  Sample fpdu;     ///< cost of building or parsing an FPDU
  Sample marker;   ///< cost of inserting or removing a marker
  Sample message;  ///< cost of a message in addition to its FPDUs, for both ends together
};
Framing bench_framing();
/// Measures the cost to post, drive and complete a request that sends nothing on a live connection:
/// a fast registration or a local invalidate.
Sample bench_request();
/// Returns the work of both ends for a message in addition to its FPDUs, in nanoseconds. `request`
/// already includes the work of the posting end in memory, which is half of `framing.message`.
double request_cost(const Sample& request, const Framing& framing);

}  // namespace iwarp::apps::cost
