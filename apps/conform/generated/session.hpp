// SPDX-License-Identifier: Apache-2.0
// A generated session: a state, a message, and one or two fields with changed values. run_session()
// runs it against a peer and records the reaction, so that peers can be compared.
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
  const Variation* second = nullptr;  ///< null if only one field changes

  /// Returns, for example, "after-send/Send/MSN=next+1". The id must not change between versions,
  /// because the results of peers are compared by it.
  std::string id() const;
};

/// Returns all combinations of state, message and value that apply to a peer in this role.
std::vector<Session> all_sessions(PeerRole role);
/// Returns `n` sessions that change two fields, drawn with `seed`.
std::vector<Session> draw_pairs(PeerRole role, std::size_t n, std::uint64_t seed);
/// Returns `n` of `sessions` in their order, drawn with `seed`.
std::vector<Session> draw(std::vector<Session> sessions, std::size_t n, std::uint64_t seed);

struct Outcome {
  std::string id;
  std::string requirements;  ///< rows of the changed fields and of the violated rules
  std::string broken;        ///< names of the violated rules
  std::string broken_rows;   ///< rows of the violated rules only
  std::string expected;
  std::string came;
  std::string headers;  ///< what is wrong with the headers that a Terminate returns
  bool right = false;
  bool reached = true;  ///< false if there was no connection or if it did not reach the state
  std::string record;   ///< the frames of the session, if Target::verbose is set
};

struct PeerTimeouts {
  /// How long the peer may be silent before a probing Read is sent.
  std::chrono::milliseconds silence{100};
  bool crc = true;  ///< whether our startup frame requests CRCs
};

Outcome run_session(const Session& session, const Target& target, const PeerTimeouts& timeouts);

}  // namespace iwarp::apps::conform::generated
