// SPDX-License-Identifier: Apache-2.0
// What a process uses, and how long operations took.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace iwarp::load {

using Clock = std::chrono::steady_clock;

struct Usage {
  std::size_t memory = 0;       ///< octets of anonymous memory in use
  std::size_t descriptors = 0;  ///< open
};
/// Of this process. Throws std::runtime_error where /proc has none.
Usage usage();
/// Octets that all TCP sockets of this network namespace hold, of both ends.
std::size_t tcp_memory();
/// Processor time of this process so far.
std::chrono::duration<double> processor_time();
/// Raises the limit of descriptors to `wanted`, if it may. The limit then.
std::size_t raise_descriptors(std::size_t wanted);

/// Times in classes, 16 to each power of two: within 1/16.
class Latencies {
 public:
  void add(Clock::duration time);
  std::uint64_t count() const { return count_; }
  /// The time that this share of all did not exceed.
  std::chrono::duration<double, std::micro> quantile(double share) const;
  void clear() { *this = {}; }

 private:
  std::array<std::uint64_t, std::size_t{64} * 16> classes_{};
  std::uint64_t count_ = 0;
};

/// The two processes tell each other through memory that they share.
struct Shared {
  std::atomic<std::uint16_t> port{0};
  std::atomic<std::uint64_t> memory{0};  ///< of the passive end, sampled all the time
  std::atomic<std::uint64_t> descriptors{0};
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> processor_ms{0};
  std::atomic<std::uint64_t> open{0};  ///< queue pairs of the passive end
  std::atomic<bool> stop{false};
};

}  // namespace iwarp::load
