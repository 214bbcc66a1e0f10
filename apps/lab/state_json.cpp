// SPDX-License-Identifier: Apache-2.0
// Writes as JSON what is known only at the ends themselves: memory, access rights, states and
// completions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "iwarp/bytes/hex.hpp"
#include "lab/capture.hpp"

namespace iwarp::apps::lab {
namespace {

using Json = nlohmann::ordered_json;

std::string rights_of(const verbs::Region& region) {
  constexpr std::array<std::pair<verbs::Access, std::string_view>, 4> kRights{{
      {verbs::Access::kRemoteWrite, "remote write"},
      {verbs::Access::kRemoteRead, "remote read"},
      {verbs::Access::kRemoteAtomic, "remote atomic"},
      {verbs::Access::kLocalWrite, "local write"},
  }};
  std::string text;
  for (const auto& [right, name] : kRights) {
    if (!has(region.access, right)) continue;
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text.empty() ? "local read" : text;
}

Json memory_json(const Memory& memory) {
  const verbs::Region& region = *memory.region;
  return {{"name", memory.name},
          {"stag", fmt::format("{:08x}", region.stag.load())},
          {"to", fmt::format("{:x}", region.to_base)},
          {"valid", region.valid.load()},
          {"rights", rights_of(region)},
          {"octets", bytes::to_hex(memory.octets, 0)}};
}

Json log_json(const std::vector<Event>& log) {
  constexpr std::array kKinds{"post", "completion", "failure", "news"};
  Json out = Json::array();
  for (const auto& event : log) {
    out.push_back({{"at", nanoseconds(event.at)},
                   {"kind", kKinds[static_cast<std::size_t>(event.kind)]},
                   {"text", event.text}});
  }
  return out;
}

Json end_json(const End& end) {
  const auto attributes = end.qp->query();
  Json out{{"startup", to_string(end.connection->startup().state())},
           {"qp", to_string(attributes.state)},
           {"receives", attributes.recv_outstanding},
           {"requests", attributes.send_outstanding},
           {"mulpdu", end.connection->mulpdu().octets}};
  if (attributes.terminate_sent) {
    out["terminate_sent"] = bytes::to_string(attributes.terminate_sent->fault);
  }
  if (attributes.terminate_received) {
    out["terminate_received"] = bytes::to_string(attributes.terminate_received->fault);
  }
  out["memory"] = Json::array();
  for (const auto& memory : end.memory()) out["memory"].push_back(memory_json(memory));
  out["log"] = log_json(end.log());
  return out;
}

/// Returns the segments in flight, in the order in which they were sent.
Json flight_json(const Link& link) {
  constexpr std::array kKinds{"octets", "fin", "reset"};
  Json out = Json::array();
  for (const auto& segment : link.segments()) {
    if (link.is_over(segment)) continue;
    out.push_back({{"from", segment.from == Side::kNear ? "near" : "far"},
                   {"kind", kKinds[static_cast<std::size_t>(segment.kind)]},
                   {"offset", segment.offset},
                   {"size", segment.size},
                   {"arrived", link.arrived(segment)},
                   {"due", nanoseconds(link.due(segment))}});
  }
  return out;
}

}  // namespace

std::string state_json(Session& session) {
  const Link& link = session.link();
  Json out{{"now", nanoseconds(session.now())},
           {"cut", link.is_cut()},
           {"near", end_json(session.end(Side::kNear))},
           {"far", end_json(session.end(Side::kFar))},
           {"arrived", {{"near", link.arrived(Side::kNear)}, {"far", link.arrived(Side::kFar)}}},
           {"flight", flight_json(link)}};
  if (const auto due = session.due()) {
    out["due"] = {{"from", due->from == Side::kNear ? "near" : "far"}, {"octets", due->octets}};
  }
  return out.dump();
}

}  // namespace iwarp::apps::lab
