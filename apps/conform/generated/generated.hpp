// SPDX-License-Identifier: Apache-2.0
// iwarp conform --generated: runs generated sessions in addition to the hand-written cases. The
// sessions are generated from the fields of messages, the limits of these fields and the states of
// a connection. The report has the expected and the actual reaction to each session, so that two
// peers can be compared session by session.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/generated/session.hpp"

namespace iwarp::apps::conform::generated {

struct Choice {
  std::vector<std::string> only;  ///< prefixes of the ids to run; empty means all
  std::string after;              ///< run only the sessions after this id; empty means all
  unsigned cases = 0;             ///< number of sessions that change one field; 0 means all
  unsigned pairs = 0;             ///< number of additional sessions that change two fields
  std::uint64_t seed = 1;         ///< seed of the random generator that selects sessions and pairs
};

std::vector<Session> choose(PeerRole role, const Choice& choice);

struct Run {
  std::string peer;
  PeerRole role = PeerRole::kResponder;
  std::uint64_t seed = 1;
  std::vector<Outcome> outcomes;
  std::string ended_early;  ///< why the run stopped early; empty if all sessions were run
};

/// Runs `sessions` in order. Stops early if kTimeout consecutive sessions cannot connect, or cannot
/// reach the state in which they send their sample. In this case, the outcome of the session before
/// these sessions says that the peer was gone after it.
inline constexpr std::size_t kTimeout = 3;
void run(const std::vector<Session>& sessions, const Target& target, const PeerTimeouts& timeouts,
         const std::function<void(const Outcome&)>& ended, Run& run);

/// Returns the text that reports `outcome`. It is empty unless the session failed.
std::string line(const Outcome& outcome);
std::string summary(const Run& run);
std::string to_json(const Run& run, std::string_view date);

}  // namespace iwarp::apps::conform::generated
