// SPDX-License-Identifier: Apache-2.0
// Records of runs as JSON: a file of runs is an array of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;
using Json = nlohmann::ordered_json;

/// One end: counters, and user plus system time.
using model::Observed;
using model::Record;

Json to_json(const Record& record);
/// Error: what is missing, or of the wrong kind.
Record record_from(const Json& json);

/// The records of a file. UsageError: unreadable, or not such a file.
std::vector<Record> read_records(const std::string& path);
void write_records(const std::string& path, const std::vector<Record>& records);

}  // namespace iwarp::apps::cost
