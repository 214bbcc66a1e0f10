// SPDX-License-Identifier: Apache-2.0
// Reads and writes one flat JSON object. All of its members are required.
#include "usage/observed_json.hpp"

#include <nlohmann/json.hpp>

#include "iwarp/verbs/counter_names.hpp"
#include "usage/json_number.hpp"

namespace iwarp::apps::usage {

nlohmann::json to_json(const Observed& observed) {
  nlohmann::json out;
  for (const auto& counter : verbs::counter_names()) {
    out[counter.name] = observed.counters.*counter.member;
  }
  out["segments_sent"] = observed.segments_sent;
  out["segments_received"] = observed.segments_received;
  out["context_switches"] = observed.switches;
  out["cpu_ns"] = observed.cpu_ns;
  return out;
}

Observed observed_from_json(const nlohmann::json& json) {
  Observed out;
  for (const auto& counter : verbs::counter_names()) {
    read_number(json, counter.name, out.counters.*counter.member);
  }
  read_number(json, "segments_sent", out.segments_sent);
  read_number(json, "segments_received", out.segments_received);
  read_number(json, "context_switches", out.switches);
  read_number(json, "cpu_ns", out.cpu_ns);
  return out;
}

}  // namespace iwarp::apps::usage
