// SPDX-License-Identifier: Apache-2.0
// Reads and writes records of runs as JSON. A file of runs is an array of records.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;
using Json = nlohmann::ordered_json;

/// The counters of one end, including its user and system time.
using model::Observed;
using model::Record;

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

}  // namespace iwarp::apps::cost
