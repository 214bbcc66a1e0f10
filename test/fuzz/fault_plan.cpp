// SPDX-License-Identifier: Apache-2.0
// Target: the file of `iwarp run --fault`, and lines of its control socket. Properties: an error
// names its line, limits hold, and a rule that was accepted is accepted again.
#include <algorithm>

#include "faults/plan.hpp"
#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace rdma_core::fault;  // NOLINT(google-build-using-namespace): all tested code is in it

void check(const Rule& rule) {
  require(rule.text.size() <= kMaxLine, "the text of a rule fits in a line");
  require(rule.text.find('\n') == std::string::npos, "the text of a rule contains no line end");
  require(rule.when != When::kRange || rule.count <= rule.last,
          "the first number of a range is not above the last");
  const auto again = parse_rule(rule.text);
  require(again.has_value() && again->has_value(), "parsing the text of a rule succeeds again");
  const Rule& same = **again;
  require(same.text == rule.text && same.when == rule.when && same.event == rule.event &&
              same.count == rule.count && same.last == rule.last && same.act == rule.act &&
              same.value == rule.value && same.duration == rule.duration,
          "the parsed rule equals the rule");
}

}  // namespace

void run(View input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto plan = parse_plan(text);
  const auto lines = 1 + static_cast<unsigned>(std::ranges::count(text, '\n'));
  if (!plan) {
    require(!plan.error().why.empty(), "an error has a reason");
    require(plan.error().line <= lines, "an error has the number of a line of the plan");
    return;
  }
  require(plan->rules.size() <= kMaxRules, "the number of rules is limited");
  for (const Rule& rule : plan->rules) {
    require(rule.line >= 1 && rule.line <= lines, "a rule has the number of its line");
    check(rule);
  }
}

}  // namespace iwarp::fuzz
