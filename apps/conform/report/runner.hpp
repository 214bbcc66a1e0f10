// SPDX-License-Identifier: Apache-2.0
// Runs conformance cases in order and records their results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/script/case.hpp"
#include "conform/script/script.hpp"
#include "report/report.hpp"

namespace iwarp::apps::conform {

using report::Outcome;

struct Result {
  const Case* what = nullptr;
  Outcome outcome = Outcome::kPass;
  std::string expected;  ///< for kFail: what the case expected
  std::string observed;  ///< for kFail: what the peer did
  std::string why;       ///< for kSkip: the reason
  std::string record;    ///< frames of the case as text; only if Target::verbose is set
  std::string
      unreachable{};  ///< for kFail: why no connection could be established at all, or empty
  std::chrono::nanoseconds took{};
};

/// Runs one case against the peer. Throws Error if one of the tester's system calls fails, or
/// Interrupted if a stop signal arrives.
Result run_case(const Case& what, const Target& target);

/// Returns the cases for a peer in this role; kEither selects all roles. SHOULD cases are included
/// only if `should` is true. If `only` is not empty, returns only the cases whose id or section
/// begins with one of its prefixes; "5044" selects every section of RFC 5044. The cases are sorted
/// by layer and section, but the cases that are known to crash peers come last.
std::vector<const Case*> select(PeerRole role, bool should, const std::vector<std::string>& only);

/// The results of a run.
struct Report {
  std::string peer;
  PeerRole role = PeerRole::kResponder;
  bool should = false;
  std::vector<Result> results;
  std::string ended_early;  ///< why the run stopped early; empty if all cases were run
  std::chrono::nanoseconds took{};
};

/// Functions that are called before and after each case.
struct Observer {
  std::function<void(const Case&)> begins;
  std::function<void(const Result&)> ended;
};

/// Runs `cases` and adds their results to `report`. Stops after kTimeout consecutive cases that
/// could not connect, and immediately on a stop signal. Throws Error if the very first connection
/// fails.
inline constexpr std::size_t kTimeout = 3;
void run_all(const std::vector<const Case*>& cases, const Target& target, const Observer& observer,
             Report& report);

}  // namespace iwarp::apps::conform
