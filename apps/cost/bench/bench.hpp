// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks that measure the parameters of a host. Each function returns the median and the
// spread of several rounds. If this machine does not permit a benchmark, the function throws Error
// with a text that says what is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/offload_model/fit.hpp"
#include "iwarp/offload_model/judge.hpp"

namespace iwarp::apps::cost {

/// The result of a benchmark: nanoseconds per unit (byte, call, packet and so on).
using offload_model::Sample;

/// Calls `once` for each of `rounds` rounds, and returns the median and the spread of the results.
Sample sample(const std::function<double()>& once, int rounds = 9);
/// Runs a benchmark in a process of its own, whose settings end with it. Throws Error with the text
/// of the benchmark's error, or if the benchmark takes longer than a minute.
Sample apart(const std::function<Sample()>& benchmark);
/// Makes `times` calls of `call`. Returns this thread's processor time per call, in nanoseconds.
double time_of(const std::function<void()>& call, std::uint64_t times);

// Memory ------------------------------------------------------------------------------------------
/// Measures the cost per byte of copying 4 KiB pieces, over a working set of `octets` bytes.
Sample bench_copy(std::size_t octets);
/// The cost per byte of each pass of this stack over payload.
struct Passes {
  Sample copy, crc, copy_crc;
  offload_model::PassCosts costs() const { return {copy.value, crc.value, copy_crc.value}; }
};
/// Measures the passes of this stack over pieces of 1448 bytes, over a working set of `octets`
/// bytes.
Passes bench_passes(const crc32c::Kernel& kernel, std::size_t octets);

// The system --------------------------------------------------------------------------------------
/// Measures the cheapest system call.
Sample bench_syscall();
/// Measures the processor time that both sides use for one wake-up. Two processes wake each other
/// in turn. If `other` is true, the processes run on two processors; otherwise, they share one
/// processor.
Sample bench_wakeup(bool other);
/// Returns the processor time of `call`. Between any two calls the kernel transfers some bytes over
/// TCP, as in a real transfer; the time for these bytes is subtracted. Without this traffic, the
/// code of `call` would always be in the nearest caches.
double time_between_calls(const std::function<void()>& call, std::uint64_t times);
/// Measures the cost of one additional element in a gather list.
Sample bench_iovec();
/// Measures the processor time that the network driver of one end needs per packet. Sends the same
/// data by TCP over a veth pair between two network namespaces, first in small and then in large
/// packets, without segmentation offload. Requires permission to create namespaces.
Sample bench_packet();

// This stack, in memory ---------------------------------------------------------------------------
struct Framing {
  Sample fpdu;     ///< cost of building or parsing an FPDU
  Sample marker;   ///< cost of inserting or removing a marker
  Sample message;  ///< cost of a message in addition to its FPDUs, for both ends together
};
Framing bench_framing();
/// Number of small messages that are posted before the first of them completes, as in a stream.
inline constexpr std::uint64_t kBatch = 16;
/// Measures the cost of posting, driving and completing a request that sends nothing: a fast
/// registration or a local invalidate on a live connection, in batches of kBatch.
Sample bench_request();
/// Returns what a message costs both ends in addition to its FPDUs, in nanoseconds. `request` is
/// the cost at the posting end; half of `framing.message` is the cost at the other end.
double request_cost(const Sample& request, const Framing& framing);

}  // namespace iwarp::apps::cost
