// SPDX-License-Identifier: Apache-2.0
// A generated session: a state, a message, and one or two fields with changed values. run_session()
// plays the session against a peer and records the peer's reaction, so that peers can be compared.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "conform/generated/rules.hpp"
#include "conform/generated/variations.hpp"

namespace iwarp::apps::conform::generated {

struct Session {
  const StateInfo* state = nullptr;
  rdmap::Opcode message = rdmap::Opcode::kSend;
  const Variation* first = nullptr;
  const Variation* second = nullptr;  ///< the second changed field; null if only one field changes

  /// Returns the id, for example "after-send/Send/MSN=next+1". The ids must not change between
  /// versions, because results of different peers are compared by id.
  std::string id() const;
};

/// Returns all combinations of state, message and value that apply to a peer in this role, or, with
/// kEither, to a peer in one of the two roles.
std::vector<Session> all_sessions(PeerRole role);
/// Returns `n` sessions that change two fields. `seed` determines the random selection.
std::vector<Session> draw_pairs(PeerRole role, std::size_t n, std::uint64_t seed);
/// Returns `n` of the `sessions`, in their original order. `seed` determines the random selection.
std::vector<Session> draw(std::vector<Session> sessions, std::size_t n, std::uint64_t seed);

struct Outcome {
  std::string id;
  std::string requirements;  ///< requirement rows of the changed fields and violated rules
  std::string broken;        ///< names of the violated rules
  std::string broken_rows;   ///< requirement rows of the violated rules only
  std::string expected;
  std::string observed;
  std::string headers;  ///< error in the headers that the Terminate returns; empty if none
  bool right = false;
  bool reached = true;  ///< false if the tester could not connect or the state was not reached
  std::string record;   ///< frames of the session as text; only if Target::verbose is set
};

struct PeerTimeouts {
  /// How long the tester waits for a reaction before it sends a probing Read.
  std::chrono::milliseconds silence{100};
  bool crc = true;  ///< whether the tester's startup frame requests CRCs
};

Outcome run_session(const Session& session, const Target& target, const PeerTimeouts& timeouts);

}  // namespace iwarp::apps::conform::generated
