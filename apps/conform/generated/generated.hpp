// SPDX-License-Identifier: Apache-2.0
// iwarp conform --generated: sessions made from the fields of the messages, their limits and the
// states of a connection, instead of written cases. What was expected and what came is recorded for
// each, so that two peers can be compared session by session.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/generated/session.hpp"

namespace iwarp::apps::conform::generated {

struct Choice {
  std::vector<std::string> only;  ///< beginnings of ids; none: all
  std::string after;              ///< an id: only what comes behind it
  unsigned cases = 0;             ///< so many of them; 0: all
  unsigned pairs = 0;             ///< and so many with two fields changed
  std::uint64_t seed = 1;         ///< draws both
};

std::vector<Session> choose(PeerRole role, const Choice& choice);

struct Run {
  std::string peer;
  PeerRole role = PeerRole::kResponder;
  std::uint64_t seed = 1;
  std::vector<Outcome> outcomes;
  std::string ended_early;  ///< why sessions are missing; empty: none is
};

/// Runs them one after the other. A peer that is gone, or does not play in kTimeout sessions in a
/// row, ends the run: the session before them is recorded as the one that ended it.
inline constexpr std::size_t kTimeout = 3;
void run(const std::vector<Session>& sessions, const Target& target, const PeerTimeouts& timeouts,
         const std::function<void(const Outcome&)>& ended, Run& run);

/// One line of a session that was not right; empty for others.
std::string line(const Outcome& outcome);
std::string summary(const Run& run);
std::string to_json(const Run& run, std::string_view date);

}  // namespace iwarp::apps::conform::generated
