// SPDX-License-Identifier: Apache-2.0
// Runs plans. Shrinks a failing plan by removing parts of it while the same rule remains broken.
#include "trial.hpp"

#include <algorithm>

#include "plans/program.hpp"

namespace iwarp::chaos {
namespace {

constexpr int kMostRuns = 3000;

class Shrinker {
 public:
  Shrinker(Plan plan, std::string rule) : plan_(std::move(plan)), rule_(std::move(rule)) {}

  Plan shrunk() {
    for (bool smaller = true; smaller;) {
      smaller = drop_steps();
      smaller |= simplify();
    }
    return std::move(plan_);
  }

 private:
  bool keeps(const Plan& candidate) {
    if (++runs_ > kMostRuns) return false;
    const auto outcome = run(candidate);
    if (!outcome.violation || outcome.violation->rule != rule_) return false;
    plan_ = candidate;
    return true;
  }

  // Tries to remove one half of the steps, then quarters, and so on down to single steps.
  bool drop_steps() {
    bool dropped = false;
    for (std::size_t n = std::max<std::size_t>(plan_.steps.size() / 2, 1); n > 0; n /= 2) {
      for (std::size_t at = 0; at < plan_.steps.size();) {
        Plan candidate = plan_;
        const auto from = candidate.steps.begin() + static_cast<long>(at);
        const auto count = std::min(n, candidate.steps.size() - at);
        candidate.steps.erase(from, from + static_cast<long>(count));
        if (keeps(candidate)) {
          dropped = true;
        } else {
          at += n;
        }
      }
    }
    return dropped;
  }

  bool simplify() {
    bool simpler = false;
    for (std::size_t i = 0; i < plan_.links.size(); ++i) {
      for (std::size_t j = 0; j < plan_.links[i].sessions.size(); ++j) {
        const auto try_without = [&](auto change) {
          Plan candidate = plan_;
          Session& session = candidate.links[i].sessions[j];
          if (change(session) && keeps(candidate)) simpler = true;
        };
        try_without(
            [](Session& s) { return std::exchange(s.wreck, {}).kind != Wreck::Kind::kNone; });
        try_without([](Session& s) {
          const bool stalls = s.stalls[0].turns + s.stalls[1].turns != 0;
          s.stalls = {};
          return stalls;
        });
        try_without([](Session& s) { return std::exchange(s.max_delay, 0U) != 0; });
        try_without([](Session& s) { return std::exchange(s.private_data, 0U) != 0; });
      }
    }
    return simpler;
  }

  Plan plan_;
  std::string rule_;
  int runs_ = 0;
};

}  // namespace

Outcome run(const Plan& plan, std::vector<std::string>* lines) {
  Outcome out;
  Program program(plan, Story(lines));
  try {
    program.run();
  } catch (const Violation& v) {
    out.violation = v;
  }
  out.connections = program.connections();
  out.undisturbed = program.undisturbed();
  out.completions = program.completed();
  return out;
}

Plan shrink(Plan plan, const std::string& rule) { return Shrinker(std::move(plan), rule).shrunk(); }

}  // namespace iwarp::chaos
