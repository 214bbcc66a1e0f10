// SPDX-License-Identifier: Apache-2.0
// A job of iwarp cost run: moves a number of messages between two fresh processes on this machine,
// over loopback, by plain sockets or by this stack with RDMA Writes, and records what both ends
// counted. apps/measure moves the messages. Linux only.
#pragma once

#include <string>

#include "cost/bench/record.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::cost {

using usage::difference;
using usage::used_so_far;

/// The congestion control of every measured connection. It does not pace: a timer per segment is
/// not in the model. Where the system default is bbr and a hypervisor emulates the timers, pacing
/// costs more than all the rest of a transfer.
inline constexpr const char* kCongestion = "reno";

struct Job {
  std::string mode = "sockets";  ///< or "iwarp"
  std::uint64_t size = 65536;
  std::uint64_t messages = 0;  ///< 0: as many as take about `seconds`
  double seconds = 0.2;
  std::uint64_t fpdu = 0;           ///< iwarp: largest ULPDU; 0: as large as fits a segment
  std::string crc = "best";         ///< iwarp: "off", "best", or the name of a CRC32c kernel
  bool markers = false;             ///< iwarp
  std::uint64_t read = 256 * 1024;  ///< sockets: bytes of a receive call; the stack's read-ahead
  std::string cpus = "same";        ///< "other": a processor for each end, "same", "any"
};

/// Runs the job. Throws Error with what went wrong at either end.
Record measure(const Job& job);

}  // namespace iwarp::apps::cost
