// SPDX-License-Identifier: Apache-2.0
// iwarp conform --generated: runs sessions that are generated from the fields of messages, their
// limits and the states of a connection, in addition to the hand-written cases. Records the
// expected and the actual reaction to each, so that two peers can be compared session by session.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/generated/session.hpp"

namespace iwarp::apps::conform::generated {

struct Choice {
  std::vector<std::string> only;  ///< prefixes of the ids to run; empty: all
  std::string after;              ///< an id; only the sessions after it are run
  unsigned cases = 0;             ///< number of sessions that change one field; 0: all
  unsigned pairs = 0;             ///< number of additional sessions that change two fields
  std::uint64_t seed = 1;         ///< seed of the generator that draws sessions and pairs
};

std::vector<Session> choose(PeerRole role, const Choice& choice);

struct Run {
  std::string peer;
  PeerRole role = PeerRole::kResponder;
  std::uint64_t seed = 1;
  std::vector<Outcome> outcomes;
  std::string ended_early;  ///< why sessions are missing; empty if all were run
};

/// Runs `sessions` in order. If kTimeout sessions in a row cannot connect or reach their state,
/// stops and records the session before them as the one that ended the peer.
inline constexpr std::size_t kTimeout = 3;
void run(const std::vector<Session>& sessions, const Target& target, const PeerTimeouts& timeouts,
         const std::function<void(const Outcome&)>& ended, Run& run);

/// Returns the line that reports a failed session, or an empty text for other sessions.
std::string line(const Outcome& outcome);
std::string summary(const Run& run);
std::string to_json(const Run& run, std::string_view date);

}  // namespace iwarp::apps::conform::generated
