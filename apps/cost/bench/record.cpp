// SPDX-License-Identifier: Apache-2.0
// Converts records to JSON and back.
#include "cost/bench/record.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "iwarp/bytes/parse_json.hpp"
#include "usage/host.hpp"
#include "usage/json_number.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::cost {

Json to_json(const Record& r) {
  // Set each member separately: a nested list in braces takes seconds to compile.
  Json out = Json::object();
  out["mode"] = r.mode;
  out["crc"] = r.crc;
  out["markers"] = r.markers;
  out["size"] = r.size;
  out["messages"] = r.messages;
  out["fpdu"] = r.fpdu;
  out["read"] = r.read;
  out["cpus"] = r.cpus;
  out["seconds"] = r.seconds;
  out["sender"] = usage::to_json(r.tx);
  out["receiver"] = usage::to_json(r.rx);
  return out;
}

Record record_from(const Json& json) {
  try {
    Record out;
    out.mode = json.at("mode").get<std::string>();
    out.crc = json.at("crc").get<std::string>();
    out.markers = json.at("markers").get<bool>();
    usage::read_number(json, "size", out.size);
    usage::read_number(json, "messages", out.messages);
    usage::read_number(json, "fpdu", out.fpdu);
    usage::read_number(json, "read", out.read);
    out.cpus = json.at("cpus").get<std::string>();
    usage::read_number(json, "seconds", out.seconds);
    out.tx = usage::observed_from_json(json.at("sender"));
    out.rx = usage::observed_from_json(json.at("receiver"));
    return out;
  } catch (const Json::exception& error) {
    throw Error(std::string("not in the format that iwarp cost validate --out writes: ") +
                error.what());
  }
}

std::vector<Record> read_records(const std::string& path) {
  const auto root = bytes::parse_json<Json>(usage::read_text(path));
  if (!root) throw UsageError(path + ": " + root.error());
  if (!root->is_array()) throw UsageError(path + ": not a JSON array of records");
  std::vector<Record> out;
  try {
    for (const auto& one : *root) out.push_back(record_from(one));
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}: record {}: {}", path, out.size() + 1, error.what()));
  }
  return out;
}

void write_records(const std::string& path, const std::vector<Record>& records) {
  Json root = Json::array();
  for (const auto& record : records) root.push_back(to_json(record));
  write_file(path, root.dump(1) + "\n");
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error("cannot write " + path + ": " + errno_text());
}

}  // namespace iwarp::apps::cost
