// SPDX-License-Identifier: Apache-2.0
// Target: JSON from other programs: the plan that a client sends to a server of `iwarp perf`, and
// the runs and the host that `iwarp cost` reads. The first octet selects one of them. It also
// selects whether the input is the text itself, or changes to a valid text (RFC 7396). Properties:
// an error is one line of text. An accepted text can be written, and the written text is accepted
// again.
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "cost/bench/record.hpp"
#include "iwarp/bytes/parse_json.hpp"
#include "iwarp/offload_model/parameters.hpp"
#include "measure/basics/plan.hpp"
#include "target.hpp"

namespace iwarp::fuzz {
namespace {

namespace model = offload_model;
using Json = nlohmann::json;

constexpr std::uint8_t kChanges = 0x80;

/// Parses `text`. If `changes` is false, returns the parsed JSON. Otherwise applies this JSON to
/// `right` as a merge patch, and returns the patched `right`.
Json changed(std::string_view text, bool changes, Json right) {
  auto json = bytes::parse_json<Json>(text);
  if (!json) return {};
  if (!changes) return *json;
  right.merge_patch(*json);
  return right;
}

void plan(std::string_view text, bool changes) {
  const auto right = apps::measure::to_json({.test = apps::measure::tests().data()});
  const auto json = changed(text, changes, right);
  if (!json.is_object()) return;  // Control::receive() also requires an object.
  const auto one = apps::measure::to_json(apps::measure::plan_from_json(json));
  require(apps::measure::to_json(apps::measure::plan_from_json(one)) == one,
          "a plan is written as it was read");
}

void record(std::string_view text, bool changes) {
  const apps::cost::Json json = changed(text, changes, apps::cost::to_json({}));
  const auto one = apps::cost::to_json(apps::cost::record_from(json));
  require(apps::cost::to_json(apps::cost::record_from(one)) == one,
          "a record is written as it was read");
}

void host(std::string_view text, bool changes) {
  static const auto base = model::preset("100g");
  static const Json right = Json::parse(model::data_file("100g.json"));
  require(base.has_value(), "the preset exists");
  const auto set = changes ? model::parse_parameters(changed(text, true, right).dump(), &*base)
                           : model::parse_parameters(text, &*base);
  require(set.has_value() || !set.error().empty(), "an error has a reason");
}

constexpr std::array kKinds{plan, record, host};

}  // namespace

void run(View input) {
  Input in(input);
  const auto kind = in.u8();
  const auto which = kind & ~kChanges;
  if (which >= static_cast<int>(kKinds.size())) return;
  const auto octets = in.take(input.size());
  try {
    kKinds[which]({reinterpret_cast<const char*>(octets.data()), octets.size()},
                  (kind & kChanges) != 0);
  } catch (const apps::Error& error) {
    const std::string_view what = error.what();
    require(!what.empty() && what.find('\n') == std::string_view::npos, "an error is one line");
  }
}

}  // namespace iwarp::fuzz
