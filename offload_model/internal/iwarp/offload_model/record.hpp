// SPDX-License-Identifier: Apache-2.0
// Record: the settings of one measured run, and the counters and the processor time of both ends. A
// Record is plain data; this code reads no files. account() turns the counters of one end into
// processor time by component.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "iwarp/offload_model/cost.hpp"
#include "iwarp/verbs/counters.hpp"

namespace iwarp::offload_model {

/// The counters of one end of a run, which used sockets or this stack.
struct Observed {
  /// Counters of this stack; a run of sockets sets only octets and calls.
  verbs::Counters counters;
  double segments_sent = 0;      ///< segments that TCP sent
  double segments_received = 0;  ///< pieces that TCP got from the network driver
  double switches = 0;           ///< voluntary context switches
  double cpu_ns = 0;             ///< user and system time in nanoseconds
};

/// Returns the number of pieces that TCP and the network driver exchange if a program sends or
/// receives `octets` octets in `calls` calls, and each piece has at most `limit` octets.
double segments_of(double octets, double calls, double limit);

/// Returns the processor time of the end that `run` describes, according to the parameters.
Ledger account(const Parameters& p, const Observed& run);

/// One run.
struct Record {
  std::string mode;  ///< the way of moving the data: "sockets" or "iwarp"
  std::string crc;   ///< "off", or the name of the CRC kernel
  bool markers = false;
  std::uint64_t size = 0;      ///< octets of one message
  std::uint64_t messages = 0;  ///< number of messages, at least 1
  std::uint64_t fpdu = 0;      ///< iwarp: requested octets of an FPDU; 0: as many as fit a segment
  std::uint64_t read = 0;      ///< sockets: largest number of octets that a receive call requests
  std::string cpus;            ///< processors of the two ends: "same", "other" or "any"
  double seconds = 0;          ///< elapsed time
  Observed tx;
  Observed rx;
  /// Part of the processor time that is known before a fit: what copies of the kernel cost more
  /// because the buffers of the application exceed the near caches, in nanoseconds.
  double far_ns = 0;

  /// Returns the processor time of both ends in nanoseconds.
  double cpu_ns() const { return tx.cpu_ns + rx.cpu_ns; }
};

/// The settings of a run. Runs with the same settings are identical runs.
using Kind =
    std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::string, bool>;
/// Returns the settings of a run.
Kind kind_of(const Record& record);

/// Returns, for each kind of run, the run with the median cost.
std::vector<Record> medians(const std::vector<Record>& records);

/// The share of copying in the measured processor time of sockets. The lower bound is the time of
/// memcpy for the octets of the message; the upper bound is all time that grows with the number of
/// octets.
struct MeasuredShare {
  double size = 0;  ///< octets of a message
  double low = 0;   ///< lower bound of the share, 0..1
  double high = 0;  ///< upper bound of the share
};

/// Returns the share of copying in the runs of sockets, for each message size, smallest size first.
/// Uses the costs of `host`, and only the runs whose receive calls request the most octets.
std::vector<MeasuredShare> measured_shares(const Parameters& host,
                                           const std::vector<Record>& records);

}  // namespace iwarp::offload_model
