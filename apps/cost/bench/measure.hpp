// SPDX-License-Identifier: Apache-2.0
// A job of `iwarp cost validate` and `calibrate`: apps/measure transfers a number of messages
// between two new processes on this machine. The messages go over loopback, by plain sockets or by
// this stack with RDMA Writes. The record contains what both ends counted. Linux only.
#pragma once

#include <string>

#include "cost/bench/record.hpp"
#include "measure/basics/plan.hpp"

namespace iwarp::apps::cost {

/// The congestion control of every measured connection. Reno does not pace, which suits the model:
/// the model has no cost for a timer per segment. If the system default were bbr, which paces, and
/// a hypervisor emulated the timers, pacing would cost more than the whole rest of a transfer.
inline constexpr const char* kCongestion = "reno";

struct Job {
  std::string mode = "sockets";  ///< "sockets" or "iwarp"
  std::uint64_t size = 65536;
  std::uint64_t messages = 0;  ///< number of messages; 0 means as many as take about `seconds`
  double seconds = 0.2;
  std::uint64_t fpdu = 0;    ///< for iwarp: maximum ULPDU size; 0 means what fits in a TCP segment
  std::string crc = "best";  ///< for iwarp: "off", "best", or the name of a CRC32c kernel
  bool markers = false;      ///< for iwarp: whether to use markers
  /// For sockets: number of bytes that a receive call requests. The default is the number of bytes
  /// that this stack reads ahead.
  std::uint64_t read = 256 * 1024;
  /// "other" gives each end its own processor; "same" puts both ends on one processor; "any" sets
  /// no restriction.
  std::string cpus = "same";
};

/// Returns jobs with several message sizes, to which the model of sockets is fitted. Some jobs use
/// small receive calls, which let the fit distinguish the cost of a call from the cost of a byte.
std::vector<Job> sweep(double seconds, const std::string& cpus);

/// Returns the job in the terms of apps/measure. Throws Error if a value is out of range.
measure::Plan plan_of(const Job& job);

/// Runs the job. If one of the ends fails, throws Error with that end's reason.
Record measure(const Job& job);

}  // namespace iwarp::apps::cost
