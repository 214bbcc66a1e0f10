// SPDX-License-Identifier: Apache-2.0
// A job of iwarp cost run: so many messages between two fresh processes on this machine, over
// loopback, by plain sockets or by this stack with RDMA Writes; and the record of what both ends
// counted. How they are moved: apps/measure. Linux only.
#pragma once

#include <string>

#include "cost/bench/record.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::cost {

using usage::difference;
using usage::used_so_far;

/// Of every connection that is measured: it has no pacing. A timer for each segment is not in the
/// model; where the system's default is bbr and timers are a hypervisor's, it costs more than all
/// the rest of a transfer.
inline constexpr const char* kCongestion = "reno";

struct Job {
  std::string mode = "sockets";  ///< or "iwarp"
  std::uint64_t size = 65536;
  std::uint64_t messages = 0;  ///< 0: as many as take some `seconds`
  double seconds = 0.2;
  std::uint64_t fpdu = 0;           ///< iwarp: largest ULPDU; 0: what fits a segment
  std::string crc = "best";         ///< iwarp: "off", "best", or the name of a CRC32c kernel
  bool markers = false;             ///< iwarp
  std::uint64_t read = 256 * 1024;  ///< sockets: octets of a receive call; as the stack reads ahead
  std::string cpus = "same";        ///< "other": one processor each, "same", "any"
};

/// Error: what went wrong at either end.
Record measure(const Job& job);

}  // namespace iwarp::apps::cost
