// SPDX-License-Identifier: Apache-2.0
// iwarp conform --generated: sessions generated from the fields of messages, their limits and the
// states of a connection, instead of written cases. Records the expected and the actual reaction of
// each, so that two peers can be compared session by session.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/generated/session.hpp"

namespace iwarp::apps::conform::generated {

struct Choice {
  std::vector<std::string> only;  ///< prefixes of ids; empty: all
  std::string after;              ///< an id: only sessions after it
  unsigned cases = 0;             ///< number of sessions that change one field; 0: all
  unsigned pairs = 0;             ///< number of additional sessions that change two fields
  std::uint64_t seed = 1;         ///< seed for drawing both
};

std::vector<Session> choose(PeerRole role, const Choice& choice);

struct Run {
  std::string peer;
  PeerRole role = PeerRole::kResponder;
  std::uint64_t seed = 1;
  std::vector<Outcome> outcomes;
  std::string ended_early;  ///< why sessions are missing; empty if complete
};

/// Runs `sessions` in order. Stops when kTimeout sessions in a row cannot connect or reach their
/// state; the session before them is then recorded as the one that ended the peer.
inline constexpr std::size_t kTimeout = 3;
void run(const std::vector<Session>& sessions, const Target& target, const PeerTimeouts& timeouts,
         const std::function<void(const Outcome&)>& ended, Run& run);

/// Returns one line about a session that failed; empty for others.
std::string line(const Outcome& outcome);
std::string summary(const Run& run);
std::string to_json(const Run& run, std::string_view date);

}  // namespace iwarp::apps::conform::generated
