// SPDX-License-Identifier: Apache-2.0
// Writes fields as JSON arrays and not as objects, to save space: a page holds tens of thousands of
// fields.
#include "frames/report/model_json.hpp"

#include <fmt/format.h>

#include <array>

#include "iwarp/verbs/work_completion.hpp"

namespace iwarp::apps::frames {
namespace {

std::string stag_text(std::uint32_t stag) { return fmt::format("{:08x}", stag); }
std::string address_text(std::uint64_t to) { return fmt::format("{:016x}", to); }

Json state_json(const EndStates& end) {
  Json out{{"mpa", to_string(end.startup)}};
  out["rdmap"] = end.stream ? Json(to_string(*end.stream)) : Json(nullptr);
  out["qp"] = to_string(end.qp);
  return out;
}

Json regions_json(const MemoryBook::Regions& regions) {
  Json out = Json::array();
  for (const auto& [stag, region] : regions) {
    Json one{{"stag", stag_text(stag)},
             {"begin", address_text(region.begin)},
             {"end", address_text(region.end)},
             {"first", region.first},
             {"uses", region.uses}};
    if (region.invalidated) one["invalidated"] = *region.invalidated;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

const char* name_of(Side side) { return side == Side::kNear ? "near" : "far"; }

Json field_table_json() {
  Json out = Json::array();
  for (const auto& row : all_fields()) {
    out.push_back(
        {{"layer", row.layer}, {"name", row.name}, {"section", row.section}, {"why", row.why}});
  }
  return out;
}

Json fields_json(const Explained& e) {
  Json out = Json::array();
  for (const auto& field : fields_of(e)) {
    Json ranges = Json::array();
    for (const auto& range : field.octets) {
      ranges.push_back(range.begin);
      ranges.push_back(range.size);
    }
    Json one = Json::array({static_cast<unsigned>(field.field), field.value, std::move(ranges)});
    if (field.bits != 0) {
      one.push_back(field.first_bit);
      one.push_back(field.bits);
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json access_json(const Access& access) {
  constexpr std::array kKinds{"write", "receive", "read", "atomic"};
  Json out{{"owner", name_of(access.owner)},
           {"kind", kKinds[static_cast<std::size_t>(access.kind)]}};
  if (access.kind == AccessKind::kReceive) {
    out["msn"] = access.msn;
  } else {
    out["stag"] = stag_text(access.stag);
  }
  out["to"] = address_text(access.to);
  out["size"] = access.size;
  if (access.doubtful) out["doubtful"] = true;
  return out;
}

Json memory_json(const MemoryBook& memory) {
  return {{"near", regions_json(memory.regions(Side::kNear))},
          {"far", regions_json(memory.regions(Side::kFar))}};
}

Json states_json(const Ends& ends) {
  return {{"near", state_json(ends.of(Side::kNear))}, {"far", state_json(ends.of(Side::kFar))}};
}

Json changes_json(const std::vector<StateChange>& changes) {
  Json out = Json::array();
  for (const auto& change : changes) {
    out.push_back({{"end", name_of(change.side)},
                   {"machine", change.machine},
                   {"from", change.from},
                   {"event", change.event},
                   {"to", change.to},
                   {"rule", change.rule}});
  }
  return out;
}

}  // namespace iwarp::apps::frames
