// SPDX-License-Identifier: Apache-2.0
// Target: the file of `iwarp run --fault`, and lines of its control socket. Properties: an error
// names its line, limits hold, and a rule that was accepted is accepted again.
#include <algorithm>

#include "faults/plan.hpp"
#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace rdma_core::fault;  // NOLINT(google-build-using-namespace): the only subject

void check(const Rule& rule) {
  require(rule.text.size() <= kMaxLine, "a rule is one line");
  require(rule.text.find('\n') == std::string::npos, "and has no other in it");
  require(rule.when != When::kRange || rule.count <= rule.last, "a range is in order");
  const auto again = parse_rule(rule.text);
  require(again.has_value() && again->has_value(), "the text of a rule is that rule");
  const Rule& same = **again;
  require(same.text == rule.text && same.when == rule.when && same.event == rule.event &&
              same.count == rule.count && same.last == rule.last && same.act == rule.act &&
              same.value == rule.value && same.duration == rule.duration,
          "and no other");
}

}  // namespace

void run(View input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto plan = parse_plan(text);
  const auto lines = 1 + static_cast<unsigned>(std::ranges::count(text, '\n'));
  if (!plan) {
    require(!plan.error().why.empty(), "an error says why");
    require(plan.error().line <= lines, "and where");
    return;
  }
  require(plan->rules.size() <= kMaxRules, "rules are bounded");
  for (const Rule& rule : plan->rules) {
    require(rule.line >= 1 && rule.line <= lines, "a rule knows its line");
    check(rule);
  }
}

}  // namespace iwarp::fuzz
