// SPDX-License-Identifier: Apache-2.0
// Chooses the seeds, runs their plans, and shrinks a plan that differs: first cuts its end, and
// then drops single steps and elements of lists, as long as the kind of the difference stays the
// same.
#include "judge/generated/generated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "command_line/error.hpp"

namespace iwarp::judge::generated {
namespace {

namespace report = apps::report;

constexpr std::chrono::minutes kLimit{3};  // for one sequence, which may wait for retries

/// The result of a plan, and the difference if the verdict is kFail.
struct Trial {
  Result result;
  Difference difference;
};

/// Runs a plan in a child process, which answers with the difference.
Trial try_plan(const Plan& plan, const Target& target) {
  const auto run = [&plan](Judge& judge) -> Answers {
    const auto difference = execute(judge, plan);
    if (!difference) return {};
    return {{"what", difference->what},
            {"line", difference->line},
            {"missing", difference->is_missing ? "yes" : "no"}};
  };
  Trial out{.result = run_in_child(run, target, kLimit), .difference = {}};
  Result& result = out.result;
  if (auto& answers = result.answers; !answers.empty()) {
    result.verdict = Verdict::kFail;
    out.difference = {answers["what"], answers["line"], answers["missing"] == "yes"};
    return out;
  }
  out.difference.what = result.why;  // crashed or stalled
  const auto wrong = std::ranges::find(result.observations, false, &Observation::is_right);
  if (wrong != result.observations.end()) {
    out.difference.what = wrong->step + ": " + wrong->observed;  // a call that sets up an end
  }
  return out;
}

/// The text of a difference without its numbers, which change when a plan gets shorter.
std::string kind_of(std::string what) {
  std::erase_if(what, [](char c) { return c >= '0' && c <= '9'; });
  return what;
}

/// Removes parts of a plan as long as it still differs in the same way.
class Shrinker {
 public:
  Shrinker(Finding start, const Target& target)
      : best_(std::move(start)), target_(target), kind_(kind_of(best_.difference.what)) {}

  Finding shrunk() {
    cut_end();
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (std::size_t i = best_.plan.steps.size(); i-- > 0;) {
        has_changed = drop_from(i) || has_changed;
      }
    }
    return std::move(best_);
  }

 private:
  /// Makes `candidate` the best plan if it differs in the same way.
  bool accepts(Plan candidate) {
    auto [result, difference] = try_plan(candidate, target_);
    if (result.verdict != Verdict::kFail) return false;
    if (kind_of(difference.what) != kind_) return false;
    if (difference.line.empty() && !best_.difference.line.empty()) return false;
    best_ = {std::move(candidate), std::move(difference)};
    return true;
  }

  /// Finds the shortest beginning of the plan that differs if it is settled.
  void cut_end() {
    std::size_t low = 0;
    std::size_t high = best_.plan.steps.size();
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      Plan candidate = best_.plan;
      candidate.steps.resize(middle);
      candidate.steps.push_back({.kind = Step::Kind::kSettle});
      if (accepts(std::move(candidate))) {
        high = middle;
      } else {
        low = middle;
      }
    }
  }

  /// Drops step `i`, or else elements of its list. States remain, because each needs the one before
  /// it.
  bool drop_from(std::size_t i) {
    const Step::Kind kind = best_.plan.steps[i].kind;
    if (kind == Step::Kind::kModify || kind == Step::Kind::kDestroy) return false;
    const auto at = static_cast<std::ptrdiff_t>(i);
    Plan candidate = best_.plan;
    candidate.steps.erase(candidate.steps.begin() + at);
    if (accepts(std::move(candidate))) return true;
    return drop_elements(i, &Step::requests) || drop_elements(i, &Step::receives);
  }

  template <typename T>
  bool drop_elements(std::size_t i, std::vector<T> Step::* list) {
    bool has_changed = false;
    for (std::size_t k = (best_.plan.steps[i].*list).size(); k-- > 0;) {
      if ((best_.plan.steps[i].*list).size() == 1) break;
      Plan candidate = best_.plan;
      auto& elements = candidate.steps[i].*list;
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(k));
      has_changed = accepts(std::move(candidate)) || has_changed;
    }
    return has_changed;
  }

  Finding best_;
  Target target_;
  std::string kind_;
};

/// The kinds of errors that the choice selects. The strings are the ids of the entries.
const std::vector<std::string>& ids() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (const std::string_view name : trouble_names()) {
      std::string id = fmt::format("generated/{}", name);
      std::ranges::replace(id, ' ', '-');
      out.push_back(std::move(id));
    }
    return out;
  }();
  return all;
}

bool is_chosen(const Choice& choice, std::string_view id) {
  return choice.only.empty() || std::ranges::any_of(choice.only, [&](const std::string& prefix) {
           return id.starts_with(prefix);
         });
}

}  // namespace

std::optional<Choice> parse_seeds(std::string_view text) {
  Choice out;
  if (text.empty()) return out;
  const auto number = [](std::string_view digits, std::uint64_t& to) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  const auto dots = text.find("..");
  const bool is_valid = number(text.substr(0, dots), out.first) &&
                        number(dots == text.npos ? text : text.substr(dots + 2), out.last);
  if (!is_valid || out.first > out.last) return std::nullopt;
  return out;
}

std::vector<report::Entry> kinds(const Choice& choice) {
  std::vector<report::Entry> out;
  for (const std::string& id : ids()) {
    if (!is_chosen(choice, id)) continue;
    out.push_back({.id = id,
                   .section = "generated",
                   .title = "does what the model predicts",
                   .heading = "generated",
                   .outcome = Verdict::kNotApplicable,
                   .why = "no seed of the range causes this error"});
  }
  return out;
}

std::optional<Finding> run(const Choice& choice, const Target& target, report::Report& report) {
  report.entries = kinds(choice);
  try {
    for (std::uint64_t seed = choice.first; seed <= choice.last; ++seed) {
      Plan plan = make_plan(seed, choice.as_roce);
      const std::string_view id = ids()[plan.trouble];
      const auto entry = std::ranges::find(report.entries, id, &report::Entry::id);
      if (entry == report.entries.end()) continue;
      auto [result, difference] = try_plan(plan, target);
      entry->took += result.took;
      entry->outcome = result.verdict;
      entry->why = result.why;
      if (result.verdict == Verdict::kPass) continue;
      if (result.verdict != Verdict::kFail) {
        report.ended_early = result.why;
        return std::nullopt;
      }
      report.ended_early = "the device differs from the model";
      entry->steps = {{.call = fmt::format("the sequence of seed {}", seed),
                       .expected = "what the model predicts",
                       .observed = difference.what}};
      Finding found = Shrinker({std::move(plan), std::move(difference)}, target).shrunk();
      entry->record =
          fmt::format("{}difference: {}\n", describe(found.plan), found.difference.what);
      return found;
    }
  } catch (const apps::Interrupted&) {
    report.ended_early = "interrupted";
  }
  return std::nullopt;
}

}  // namespace iwarp::judge::generated
