// SPDX-License-Identifier: Apache-2.0
// Generates the list of sessions, and runs a session.
#include "conform/generated/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "conform/generated/observe.hpp"

namespace iwarp::apps::conform::generated {
namespace {

using rdmap::Opcode;

constexpr std::array kMessages{Opcode::kSend,     Opcode::kSendInvalidate, Opcode::kSendSolicited,
                               Opcode::kWrite,    Opcode::kReadRequest,    Opcode::kReadResponse,
                               Opcode::kTerminate};

bool possible(const StateInfo& state, PeerRole role) {
  return role != PeerRole::kInitiator || !state.needs_responder;
}

std::string words(const Variation& v) {
  return v.value.empty() ? std::string(v.field) : fmt::format("{}={}", v.field, v.value);
}

// Adds those rows of `more` that `rows` does not contain yet.
void add_rows(std::string& rows, std::string_view more) {
  while (!more.empty()) {
    const auto end = std::min(more.find(' '), more.size());
    const auto row = more.substr(0, end);
    more.remove_prefix(std::min(end + 1, more.size()));
    if (!row.empty() && (" " + rows + " ").find(fmt::format(" {} ", row)) == std::string::npos) {
      rows += (rows.empty() ? "" : " ") + std::string(row);
    }
  }
}

bool is_right(const Observed& seen, const Expectation& expected, bool goes_on_whole) {
  if (!seen.wrong.empty()) return false;
  if (seen.terminate) {
    if (!seen.ended || expected.has(kNoTerminate)) return false;
    return expected.has(kAnyTerminate) ||
           std::ranges::any_of(expected.faults, [&](const bytes::Fault& fault) {
             return reports(*seen.terminate, fault);
           });
  }
  if (seen.ended) return expected.has(kMayClose | kNoTerminate);
  if (!seen.answered) return false;
  if (expected.is_valid()) return goes_on_whole;
  return expected.has(kMayGoOn) &&
         !(expected.has(kUndelivered) && (seen.delivered || seen.read_answered));
}

void play(Outcome& out, Script& script, const Session& session, const PeerTimeouts& timeouts) {
  const Progress progress = reach(script, session.state->state, timeouts.crc);
  Sample sample = right_sample(session.message, progress, script.memory());
  session.first->apply(sample, progress);
  if (session.second != nullptr) session.second->apply(sample, progress);
  const Expectation expected = judge(sample, progress);
  for (const Rule* rule : expected.broken) {
    add_rows(out.requirements, rule->requirements);
    add_rows(out.broken_rows, rule->requirements);
    out.broken += (out.broken.empty() ? "" : "; ") + std::string(rule->name);
  }
  out.expected = expected.text();
  Observed seen;
  try {
    seen = observe(script, sample, progress, expected, timeouts.silence);
  } catch (const Failed& failed) {
    seen.wrong = failed.observed;
  }
  out.observed = seen.text(sample, expected);
  const bool whole = (seen.delivered || !must_deliver(sample, progress, expected)) &&
                     (seen.read_answered || !sample.read);
  out.right = is_right(seen, expected, whole);
  const bool headers = out.right && seen.terminate && !expected.has(kNoHeaders | kAnyTerminate) &&
                       sample.split == Sample::Split::kNone;
  if (headers) out.headers = judge_headers(*seen.terminate, sample);
}

}  // namespace

std::string Session::id() const {
  auto out = fmt::format("{}/{}/{}", state->name, rdmap::info(message).name, words(*first));
  if (second != nullptr) out += "/" + words(*second);
  return out;
}

std::vector<Session> all_sessions(PeerRole role) {
  std::vector<Session> out;
  for (const StateInfo& state : kStates) {
    if (!possible(state, role)) continue;
    for (const Opcode message : kMessages) {
      for (const Variation& variation : all_variations()) {
        if (applies(variation, message)) out.push_back({&state, message, &variation});
      }
    }
  }
  return out;
}

std::vector<Session> draw_pairs(PeerRole role, std::size_t n, std::uint64_t seed) {
  const auto singles = all_sessions(role);
  std::mt19937_64 random(seed);
  std::vector<Session> out;
  while (out.size() < n) {
    Session session = singles[random() % singles.size()];
    const Variation& other = all_variations()[random() % all_variations().size()];
    const bool fits = applies(other, session.message) && other.field != session.first->field;
    if (!fits || other.value.empty() || session.first->value.empty()) continue;
    session.second = &other;
    out.push_back(session);
  }
  return out;
}

std::vector<Session> draw(std::vector<Session> sessions, std::size_t n, std::uint64_t seed) {
  if (n >= sessions.size()) return sessions;
  std::vector<Session> out;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < sessions.size() && out.size() < n; ++i) {
    // Selection sampling: selects exactly `n` sessions in their original order, each with the same
    // probability.
    if (random() % (sessions.size() - i) < n - out.size()) out.push_back(sessions[i]);
  }
  return out;
}

Outcome run_session(const Session& session, const Target& target, const PeerTimeouts& timeouts) {
  Outcome out{.id = session.id()};
  add_rows(out.requirements, session.first->requirements);
  if (session.second != nullptr) add_rows(out.requirements, session.second->requirements);
  Script script(target);
  try {
    play(out, script, session, timeouts);
  } catch (const Failed& failed) {
    out.expected = failed.expected;
    out.observed = "before the tested message: " + failed.observed;
    out.reached = false;
  } catch (const Unreachable& unreachable) {
    out.expected = "a connection to the peer";
    out.observed = unreachable.why;
    out.reached = false;
  }
  out.record = script.record();
  return out;
}

}  // namespace iwarp::apps::conform::generated
