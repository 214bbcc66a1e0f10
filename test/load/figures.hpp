// SPDX-License-Identifier: Apache-2.0
// Measures which resources a process uses, and how long operations take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "measure/basics/histogram.hpp"

namespace iwarp::load {

using Clock = std::chrono::steady_clock;

struct Usage {
  std::size_t memory = 0;       ///< bytes of anonymous memory in use
  std::size_t descriptors = 0;  ///< number of open descriptors
};
/// Returns the usage of this process. Throws std::runtime_error if /proc does not report it.
Usage usage();
/// Returns the bytes that all TCP sockets of this network namespace use, at both ends of the
/// connections.
std::size_t tcp_memory();
/// Returns the processor time that this process has used.
std::chrono::duration<double> processor_time();
/// Raises the limit on descriptors to `wanted` if permitted. Returns the new limit.
std::size_t raise_descriptors(std::size_t wanted);

/// How long operations took.
using Latencies = apps::measure::Histogram;
/// Returns a percentile in microseconds.
inline double us(const Latencies& latencies, double part) {
  return std::chrono::duration<double, std::micro>(latencies.percentile(part)).count();
}

/// Memory that both processes share and through which they exchange their figures.
struct Shared {
  std::atomic<std::uint16_t> port{0};
  std::atomic<std::uint64_t> memory{0};  ///< memory of the passive end, sampled continuously
  std::atomic<std::uint64_t> descriptors{0};
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> processor_ms{0};
  std::atomic<std::uint64_t> open{0};  ///< number of queue pairs of the passive end
  std::atomic<bool> stop{false};
};

}  // namespace iwarp::load
