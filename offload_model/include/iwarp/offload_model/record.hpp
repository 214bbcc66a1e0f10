// SPDX-License-Identifier: Apache-2.0
// One run of one way of moving data, both ends together: what was asked, what was counted, and the
// processor time it took. Plain data; whoever ran it has filled it in, and files are not read here.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "iwarp/offload_model/live.hpp"

namespace iwarp::offload_model {

struct Record {
  std::string mode;  ///< "sockets" or "iwarp"
  std::string crc;   ///< "off", or the name of the kernel
  bool markers = false;
  std::uint64_t size = 0;      ///< octets of one message
  std::uint64_t messages = 0;  ///< at least 1
  std::uint64_t fpdu = 0;      ///< iwarp: as asked, 0 what fits a segment
  std::uint64_t read = 0;      ///< sockets: octets of a receive call at most
  std::string cpus;            ///< "same", "other" or "any"
  double seconds = 0;          ///< elapsed
  Observed tx;
  Observed rx;

  double cpu_ns() const { return tx.cpu_ns + rx.cpu_ns; }
};

/// Runs that are alike in this were asked the same.
using Kind =
    std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::string, bool>;
Kind kind_of(const Record& record);

/// Of each kind the run of median cost.
std::vector<Record> medians(const std::vector<Record>& records);

/// What share of a socket's measured processor time is copying: at least what memcpy takes for as
/// many octets, at most all that grows with them.
struct MeasuredShare {
  double size = 0;  ///< octets of a message
  double low = 0;   ///< 0..1
  double high = 0;
};

/// Per size of the sockets runs, smallest first, by the costs of `host`; of runs that differ in
/// their receive calls, those with the largest.
std::vector<MeasuredShare> measured_shares(const Parameters& host,
                                           const std::vector<Record>& records);

}  // namespace iwarp::offload_model
