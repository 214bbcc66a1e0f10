// SPDX-License-Identifier: Apache-2.0
// Options and helpers for the scenarios of acknowledged completions.
#pragma once

#include "support.hpp"

namespace iwarp::test {

inline ConnectionOptions acknowledged(std::uint16_t ord = 16, std::uint16_t ird = 16) {
  ConnectionOptions o;
  o.completions = verbs::Completions::kAcknowledged;
  o.startup.ird = ird;
  o.startup.ord = ord;
  return o;
}

inline ConnectionOptions holding(mpa::Duration hold, ConnectionOptions o = {}) {
  o.receive_hold = hold;
  return o;
}

/// Removes repeated opcodes, so that "00001" becomes "01": one digit for each message instead of
/// one for each segment.
inline std::string collapsed(std::string opcodes) {
  opcodes.erase(std::unique(opcodes.begin(), opcodes.end()), opcodes.end());
  return opcodes;
}

}  // namespace iwarp::test
