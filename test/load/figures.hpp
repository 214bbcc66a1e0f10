// SPDX-License-Identifier: Apache-2.0
// Measures which resources a process uses, and how long operations take.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

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

/// A histogram of times. It has 16 classes per power of two, so it is accurate to 1/16.
class Latencies {
 public:
  void add(Clock::duration time);
  std::uint64_t count() const { return count_; }
  /// Returns a quantile: for a `share` of 0.99, the time that 99 % of all recorded times do not
  /// exceed.
  std::chrono::duration<double, std::micro> quantile(double share) const;
  void clear() { *this = {}; }

 private:
  std::array<std::uint64_t, std::size_t{64} * 16> classes_{};
  std::uint64_t count_ = 0;
};

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
