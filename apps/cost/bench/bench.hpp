// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks that measure the parameters of a host. Each function takes the median and the
// spread of several rounds. If this machine does not permit a benchmark, the function throws Error
// with a text that says what is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/offload_model/fit.hpp"
#include "iwarp/offload_model/judge.hpp"

namespace iwarp::apps::cost {

/// The result of a benchmark: nanoseconds per unit (byte, call, packet and so on).
using offload_model::Sample;

/// Calls `once` for each of `rounds` rounds, and returns the median and the spread of the results.
Sample sample(const std::function<double()>& once, int rounds = 9);
/// Makes `times` calls of `call`. Returns this thread's processor time per call, in nanoseconds.
/// Other programs on this machine do not affect it, as they would affect the elapsed time.
double time_of(const std::function<void()>& call, std::uint64_t times);

/// A parameter of the host that a benchmark has measured, and how.
struct Finding {
  Sample ns;
  std::string source;
};
using Findings = std::map<std::string, Finding>;  ///< by Field::key

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
/// Measures what this stack needs for FPDUs, markers and work requests.
Findings bench_stack();

/// Measures the cheapest system call.
Sample bench_syscall();
/// Measures the processor time that both sides use for one wake-up. Two processes, on the same
/// processor or (if `apart`) on two, wake each other in turn.
Findings bench_wakeup(bool apart);
/// Measures the cost of one additional element in a gather list.
Findings bench_iovec();
/// Measures the processor time that the network driver of one end needs per packet. Sends the same
/// bytes by TCP over a veth pair between two network namespaces, with an MTU of 1500 and of 9000,
/// without segmentation offload. Requires iproute2 and permission to create namespaces.
Findings bench_packet();

}  // namespace iwarp::apps::cost
