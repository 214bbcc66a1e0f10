// SPDX-License-Identifier: Apache-2.0
// Record: one measured run, both ends together: its settings, what was counted, and the processor
// time it took. Plain data; reads no files.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "iwarp/offload_model/live.hpp"

namespace iwarp::offload_model {

/// One run.
struct Record {
  std::string mode;  ///< "sockets" or "iwarp"
  std::string crc;   ///< "off", or the name of the CRC kernel
  bool markers = false;
  std::uint64_t size = 0;      ///< octets of one message
  std::uint64_t messages = 0;  ///< at least 1
  std::uint64_t fpdu = 0;      ///< iwarp: octets requested; 0: what fits one segment
  std::uint64_t read = 0;      ///< sockets: largest receive call in octets
  std::string cpus;            ///< "same", "other" or "any"
  double seconds = 0;          ///< elapsed
  Observed tx;
  Observed rx;

  /// Returns the processor time of both ends in nanoseconds.
  double cpu_ns() const { return tx.cpu_ns + rx.cpu_ns; }
};

/// The settings of a run; identical runs have the same kind.
using Kind =
    std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::string, bool>;
/// Returns the settings of a run.
Kind kind_of(const Record& record);

/// Returns the run of median cost of each kind.
std::vector<Record> medians(const std::vector<Record>& records);

/// The share of copying in the measured processor time of sockets: at least the time of memcpy for
/// as many octets, at most all time that grows with them.
struct MeasuredShare {
  double size = 0;  ///< octets of a message
  double low = 0;   ///< 0..1
  double high = 0;
};

/// Returns the share for each message size of the sockets runs, smallest first, by the costs of
/// `host`. Uses only the runs with the largest receive calls.
std::vector<MeasuredShare> measured_shares(const Parameters& host,
                                           const std::vector<Record>& records);

}  // namespace iwarp::offload_model
