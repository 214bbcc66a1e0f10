// SPDX-License-Identifier: Apache-2.0
// Records to JSON and back.
#include "cost/record.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "common/counter_names.hpp"
#include "common/error.hpp"
#include "cost/measure.hpp"

namespace iwarp::apps::cost {

namespace {

Json end_to_json(const Observed& end) {
  Json out = Json::object();
  for (const auto& [name, member] : counter_names()) out[name] = end.counters.*member;
  out["segments_sent"] = end.segments_sent;
  out["segments_received"] = end.segments_received;
  out["context_switches"] = end.switches;
  out["cpu_ns"] = end.cpu_ns;
  return out;
}

Observed end_from(const Json& json) {
  Observed out;
  for (const auto& [name, member] : counter_names()) {
    out.counters.*member = json.at(name).get<std::uint64_t>();
  }
  out.segments_sent = json.at("segments_sent").get<double>();
  out.segments_received = json.at("segments_received").get<double>();
  out.switches = json.at("context_switches").get<double>();
  out.cpu_ns = json.at("cpu_ns").get<double>();
  return out;
}

}  // namespace

Json to_json(const Record& r) {
  return {{"mode", r.mode},
          {"crc", r.crc},
          {"markers", r.markers},
          {"size", r.size},
          {"messages", r.messages},
          {"fpdu", r.fpdu},
          {"read", r.read},
          {"cpus", r.cpus},
          {"seconds", r.seconds},
          {"sender", end_to_json(r.tx)},
          {"receiver", end_to_json(r.rx)}};
}

Record record_from(const Json& json) {
  try {
    Record out;
    out.mode = json.at("mode").get<std::string>();
    out.crc = json.at("crc").get<std::string>();
    out.markers = json.at("markers").get<bool>();
    out.size = json.at("size").get<std::uint64_t>();
    out.messages = json.at("messages").get<std::uint64_t>();
    out.fpdu = json.at("fpdu").get<std::uint64_t>();
    out.read = json.at("read").get<std::uint64_t>();
    out.cpus = json.at("cpus").get<std::string>();
    out.seconds = json.at("seconds").get<double>();
    out.tx = end_from(json.at("sender"));
    out.rx = end_from(json.at("receiver"));
    return out;
  } catch (const Json::exception& error) {
    throw Error(std::string("not a record of iwarp cost run: ") + error.what());
  }
}

std::vector<Record> read_records(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError("cannot open " + path + ": " + errno_text());
  const auto root = Json::parse(in, nullptr, false);
  if (!root.is_array()) throw UsageError(path + ": not a JSON array of records");
  std::vector<Record> out;
  try {
    for (const auto& one : root) out.push_back(record_from(one));
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}: record {}: {}", path, out.size() + 1, error.what()));
  }
  return out;
}

void write_records(const std::string& path, const std::vector<Record>& records) {
  Json root = Json::array();
  for (const auto& record : records) root.push_back(to_json(record));
  std::ofstream out(path, std::ios::binary);
  out << root.dump(1) << "\n";
  out.close();
  if (!out) throw Error("cannot write " + path + ": " + errno_text());
}

std::vector<MeasuredShare> measured_shares(const model::Parameters& host,
                                           const std::vector<Record>& records) {
  struct Sum {
    double octets = 0;  // each is copied twice, in and out of the kernel
    double all = 0;
  };
  std::map<std::uint64_t, Sum> by_size;
  for (const auto& record : records) {
    if (record.mode != "sockets" || record.read != Job().read) continue;
    auto& sum = by_size[record.size];
    sum.octets += static_cast<double>(record.tx.counters.octets_sent);
    sum.all += record.cpu_ns();
  }
  std::vector<MeasuredShare> out;
  for (const auto& [size, sum] : by_size) {
    if (sum.all <= 0) continue;
    const auto memcpy_share = sum.octets * 2 * host.copy_llc / sum.all;
    const auto octet_share = sum.octets * (host.copy_tx + host.copy_rx) / sum.all;
    out.push_back({static_cast<double>(size), std::min({1.0, memcpy_share, octet_share}),
                   std::min(1.0, std::max(memcpy_share, octet_share))});
  }
  return out;
}

}  // namespace iwarp::apps::cost
