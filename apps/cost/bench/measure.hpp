// SPDX-License-Identifier: Apache-2.0
// A job of iwarp cost run: apps/measure transfers a number of messages between two new processes on
// this machine, over loopback, by plain sockets or by this stack with RDMA Writes. The record
// contains what both ends counted. Linux only.
#pragma once

#include <string>

#include "cost/bench/record.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::cost {

using usage::difference;
using usage::used_so_far;

/// The congestion control of every measured connection. Reno does not pace: the model does not
/// include a timer per segment. If the system default is bbr and a hypervisor emulates timers,
/// pacing costs more than all the rest of a transfer.
inline constexpr const char* kCongestion = "reno";

struct Job {
  std::string mode = "sockets";  ///< "sockets" or "iwarp"
  std::uint64_t size = 65536;
  std::uint64_t messages = 0;  ///< number of messages; 0: as many as take about `seconds`
  double seconds = 0.2;
  std::uint64_t fpdu = 0;    ///< for iwarp: maximum size of a ULPDU; 0: as large as fits a segment
  std::string crc = "best";  ///< for iwarp: "off", "best", or the name of a CRC32c kernel
  bool markers = false;      ///< for iwarp: whether to use markers
  /// For sockets: bytes that a receive call requests, by default as many as the stack reads ahead.
  std::uint64_t read = 256 * 1024;
  /// "other": a processor for each end; "same": one for both; "any": no restriction.
  std::string cpus = "same";
};

/// Runs the job. Throws Error that says what went wrong at either end.
Record measure(const Job& job);

}  // namespace iwarp::apps::cost
