// SPDX-License-Identifier: Apache-2.0
// One run of one way of moving data, both ends together: what was asked, what was counted, and the
// processor time it took. A file of runs is a JSON array of records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/series.hpp"
#include "iwarp/offload_model/live.hpp"

namespace iwarp::apps::cost {

/// One end: counters, and user plus system time.
using model::Observed;

struct Record {
  std::string mode;  ///< "sockets" or "iwarp"
  std::string crc;   ///< "off", or the name of the kernel
  bool markers = false;
  std::uint64_t size = 0;  ///< octets of one message
  std::uint64_t messages = 0;
  std::uint64_t fpdu = 0;  ///< iwarp: as asked, 0 what fits a segment
  std::uint64_t read = 0;  ///< sockets: octets of a receive call at most
  std::string cpus;        ///< "same", "other" or "any"
  double seconds = 0;      ///< elapsed
  Observed tx;
  Observed rx;

  double cpu_ns() const { return tx.cpu_ns + rx.cpu_ns; }
};

Json to_json(const Record& record);
/// Error: what is missing, or of the wrong kind.
Record record_from(const Json& json);

/// The records of a file. UsageError: unreadable, or not such a file.
std::vector<Record> read_records(const std::string& path);
void write_records(const std::string& path, const std::vector<Record>& records);

/// Per size of the sockets runs, smallest first, by the costs of `host`.
std::vector<MeasuredShare> measured_shares(const model::Parameters& host,
                                           const std::vector<Record>& records);

}  // namespace iwarp::apps::cost
