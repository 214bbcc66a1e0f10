// SPDX-License-Identifier: Apache-2.0
// A generated session: a state, a message, and one or two of its fields with another value. Runs it
// against a peer and records the reaction, so that peers can be compared by what they did.
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
  const Variation* second = nullptr;  ///< nullptr: one field only

  /// "after-send/Send/MSN=next+1", stable: peers are compared by it.
  std::string id() const;
};

/// All states x messages x values that a peer in this role can be tried with.
std::vector<Session> all_sessions(PeerRole role);
/// `n` of those that change two fields at once, drawn by `seed`.
std::vector<Session> draw_pairs(PeerRole role, std::size_t n, std::uint64_t seed);
/// `n` of `sessions`, in their order, drawn by `seed`.
std::vector<Session> draw(std::vector<Session> sessions, std::size_t n, std::uint64_t seed);

struct Outcome {
  std::string id;
  std::string requirements;  ///< rows of the field and of the rules broken
  std::string broken;        ///< the names of those rules
  std::string broken_rows;   ///< and theirs alone
  std::string expected;
  std::string came;
  std::string headers;  ///< what is wrong about the headers that a Terminate brings back
  bool right = false;
  bool reached = true;  ///< false: there was no connection, or not in the state
  std::string record;   ///< frames, when asked for
};

struct PeerTimeouts {
  std::chrono::milliseconds silence{100};  ///< before the next message asks whether the peer lives
  bool crc = true;                         ///< ours asks for CRCs
};

Outcome run_session(const Session& session, const Target& target, const PeerTimeouts& timeouts);

}  // namespace iwarp::apps::conform::generated
