// SPDX-License-Identifier: Apache-2.0
// Runs conformance cases one after the other and keeps what became of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/script/case.hpp"
#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

enum class Outcome : std::uint8_t { kPass, kFail, kSkip };

struct Result {
  const Case* what = nullptr;
  Outcome outcome = Outcome::kPass;
  std::string expected;      ///< kFail
  std::string came;          ///< kFail
  std::string why;           ///< kSkip
  std::string record;        ///< the frames in layers, when they were asked for
  bool unreachable = false;  ///< kFail: there was no connection at all
  std::chrono::nanoseconds took{};
};

/// One case against the peer. Error: no test of the peer, a system call of ours failed.
/// Interrupted: a stop signal came.
Result run_case(const Case& what, const Target& target);

/// Cases that a peer in this role can be tested with (kEither: all there are), SHOULD ones only
/// when asked for, and only those whose id or section begins with one of `only` (none: all). "5044"
/// means every section of RFC 5044. In the order of the RFCs' layers and of their sections,
/// but those that are known to bring peers down behind all others.
std::vector<const Case*> select(PeerRole role, bool should, const std::vector<std::string>& only);

/// What a run knows when it ends.
struct Report {
  std::string peer;
  PeerRole role = PeerRole::kResponder;
  bool should = false;
  std::vector<Result> results;
  std::string ended_early;  ///< why cases are missing; empty: none is
  std::chrono::nanoseconds took{};
};

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  std::size_t must_failed = 0;
};
Counts count(const std::vector<Result>& results);

/// Told about each case before and after it ran.
struct Observer {
  std::function<void(const Case&)> begins;
  std::function<void(const Result&)> ended;
};

/// Runs `cases` and adds what became of them to `report`. A peer that has gone ends the run after
/// kTimeout cases, a stop signal at once. Error: the very first connection did not come about.
inline constexpr std::size_t kTimeout = 3;
void run_all(const std::vector<const Case*>& cases, const Target& target, const Observer& observer,
             Report& report);

}  // namespace iwarp::apps::conform
