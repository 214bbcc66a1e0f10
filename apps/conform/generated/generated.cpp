// SPDX-License-Identifier: Apache-2.0
// Runs the generated sessions and formats the reports.
#include "conform/generated/generated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

namespace iwarp::apps::conform::generated {
namespace {

using Json = nlohmann::ordered_json;

bool chosen(const Session& session, const std::vector<std::string>& only) {
  const auto id = session.id();
  return only.empty() || std::ranges::any_of(only, [&](const std::string& prefix) {
           return id.starts_with(prefix);
         });
}

Json rows_of(const std::string& requirements) {
  Json out = Json::array();
  for (const auto row : std::views::split(requirements, ' ')) {
    if (!row.empty()) out.push_back(std::string(row.begin(), row.end()));
  }
  return out;
}

}  // namespace

std::vector<Session> choose(PeerRole role, const Choice& choice) {
  auto sessions = all_sessions(role);
  if (choice.cases != 0) sessions = draw(std::move(sessions), choice.cases, choice.seed);
  const auto pairs = draw_pairs(role, choice.pairs, choice.seed);
  sessions.insert(sessions.end(), pairs.begin(), pairs.end());
  if (!choice.after.empty()) {
    const auto last = std::ranges::find(sessions, choice.after, &Session::id);
    if (last != sessions.end()) sessions.erase(sessions.begin(), last + 1);
  }
  std::erase_if(sessions, [&](const Session& session) { return !chosen(session, choice.only); });
  return sessions;
}

void run(const std::vector<Session>& sessions, const Target& target, const PeerTimeouts& timeouts,
         const std::function<void(const Outcome&)>& ended, Run& run) {
  std::vector<Outcome> in_vain;
  for (const Session& session : sessions) {
    Outcome outcome;
    try {
      outcome = run_session(session, target, timeouts);
    } catch (const Interrupted&) {
      run.ended_early = "interrupted";
      return;
    }
    if (!outcome.reached) {
      if (run.outcomes.empty() && in_vain.empty()) throw Error(outcome.observed);
      in_vain.push_back(std::move(outcome));
      if (in_vain.size() < kTimeout) continue;
      run.ended_early = in_vain.front().observed;
      run.outcomes.back().right = false;
      run.outcomes.back().observed += "; the next sessions could not begin";
      return;
    }
    // This session has reached its state, so the peer still works. The sessions in `in_vain`, which
    // ran directly before this one, may have failed only because the peer was still closing an
    // earlier connection. Record them as ordinary outcomes.
    for (Outcome& late : in_vain) run.outcomes.push_back(std::move(late));
    in_vain.clear();
    run.outcomes.push_back(std::move(outcome));
    ended(run.outcomes.back());
  }
}

std::string line(const Outcome& o) {
  std::string out;
  if (!o.right) {
    const auto rows = o.requirements.empty() ? "" : fmt::format(" [{}]", o.requirements);
    out = fmt::format("\u00d7 {}\n    {}{}\n    expected: {}; observed: {}\n", o.id,
                      o.broken.empty() ? "the tested message is valid" : o.broken, rows, o.expected,
                      o.observed);
  } else if (!o.headers.empty()) {
    out = fmt::format("\u00d7 {}\n    wrong headers in the peer's {}: {} [RDMAP-93] [RDMAP-94]\n",
                      o.id, o.observed, o.headers);
  }
  return out.empty() ? out : out + o.record;
}

std::string summary(const Run& run) {
  const auto right = std::ranges::count_if(run.outcomes, &Outcome::right);
  const auto headers =
      std::ranges::count_if(run.outcomes, [](const Outcome& o) { return !o.headers.empty(); });
  auto out = fmt::format("{} sessions: {} passed, {} failed; Terminates with wrong headers: {}\n",
                         run.outcomes.size(), right,
                         static_cast<std::ptrdiff_t>(run.outcomes.size()) - right, headers);
  if (!run.ended_early.empty()) out += fmt::format("Ended early: {}\n", run.ended_early);
  return out;
}

std::string to_json(const Run& run, std::string_view date) {
  Json sessions = Json::array();
  for (const Outcome& o : run.outcomes) {
    Json one = {{"id", o.id},
                {"requirements", rows_of(o.requirements)},
                {"broken", o.broken},
                {"broken_rows", o.broken_rows},
                {"expected", o.expected},
                {"observed", o.observed},
                {"headers", o.headers},
                {"right", o.right}};
    if (!o.record.empty()) one["frames"] = o.record;
    sessions.push_back(std::move(one));
  }
  const Json out = {{"peer", run.peer},
                    {"role", run.role == PeerRole::kResponder ? "responder" : "initiator"},
                    {"date", date},
                    {"seed", run.seed},
                    {"ended_early", run.ended_early},
                    {"sessions", std::move(sessions)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace iwarp::apps::conform::generated
