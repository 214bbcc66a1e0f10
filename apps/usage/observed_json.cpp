// SPDX-License-Identifier: Apache-2.0
// One flat object, in which all names are to be there.
#include "usage/observed_json.hpp"

#include <nlohmann/json.hpp>

#include "iwarp/verbs/counter_names.hpp"

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
    json.at(counter.name).get_to(out.counters.*counter.member);
  }
  json.at("segments_sent").get_to(out.segments_sent);
  json.at("segments_received").get_to(out.segments_received);
  json.at("context_switches").get_to(out.switches);
  json.at("cpu_ns").get_to(out.cpu_ns);
  return out;
}

}  // namespace iwarp::apps::usage
