// SPDX-License-Identifier: Apache-2.0
// Runs conformance cases one after the other and keeps what became of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/case.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

enum class Outcome : std::uint8_t { kPass, kFail, kSkip };

struct Result {
  const Case* what = nullptr;
  Outcome outcome = Outcome::kPass;
  std::string expected;  ///< kFail
  std::string came;      ///< kFail
  std::string why;       ///< kSkip
  std::string record;    ///< the frames in layers, when they were asked for
  std::chrono::nanoseconds took{};
};

/// One case against the peer. Error: the peer cannot be reached at all.
Result run_case(const Case& what, const Target& target);

/// Cases that a peer in this role can be tested with, SHOULD ones only when asked for, and only
/// those whose id or section begins with one of `only` (none: all). "5044" means every section of
/// RFC 5044.
std::vector<const Case*> select(PeerRole role, bool should, const std::vector<std::string>& only);

}  // namespace iwarp::apps::conform
