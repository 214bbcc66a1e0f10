// SPDX-License-Identifier: Apache-2.0
// Runs of `iwarp cost validate` and `calibrate`: apps/measure transfers a number of messages
// between two new processes on this machine. The messages go over loopback, by plain sockets or by
// this stack with RDMA Writes. A file of runs is a JSON array of records, which contain what both
// ends counted. Linux only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "iwarp/offload_model/record.hpp"
#include "measure/basics/plan.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;
using Json = nlohmann::ordered_json;
using model::Record;

/// Returns a run by sockets that takes about `seconds`. Each receive call requests as many bytes as
/// this stack reads ahead.
Record socket_run(std::uint64_t size, double seconds, const std::string& cpus);
/// Returns runs with several message sizes, to which the model of sockets is fitted. Some use small
/// receive calls, which let the fit distinguish the cost of a call from the cost of a byte.
std::vector<Record> sweep(double seconds, const std::string& cpus);

/// Returns the run in the terms of apps/measure. If the number of messages is 0, chooses one that
/// takes about the time of the run. Throws Error if a value is out of range.
measure::Plan plan_of(const Record& run);
/// Makes the run, and returns it with what was counted. If one of the ends fails, throws Error with
/// that end's reason.
Record measure(Record run);

Json to_json(const Record& record);
/// Parses a record. If a member is missing or has the wrong type, throws Error with a text that
/// names the member.
Record record_from(const Json& json);

/// Reads the records in a file. Throws UsageError if the file cannot be read or does not contain
/// records.
std::vector<Record> read_records(const std::string& path);
void write_records(const std::string& path, const std::vector<Record>& records);
/// Writes a file. Throws Error if that fails.
void write_file(const std::string& path, const std::string& text);

/// A line on standard error that says what is measured. It is shown only on a terminal, is redrawn
/// in place, and disappears with this object.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  void show(const std::string& text) const;

 private:
  const bool shown_;
};

}  // namespace iwarp::apps::cost
