// SPDX-License-Identifier: Apache-2.0
// What the RFCs require of a peer that receives a sample, as a list of rules. Each rule checks
// whether a sample violates it, no matter how the sample was generated. If a sample violates
// several rules, the peer may report any of the violations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conform/generated/sample.hpp"

namespace iwarp::apps::conform::generated {

struct Rule {
  std::string_view name;          ///< description of a sample that violates the rule
  std::string_view requirements;  ///< rows of rfc-notes/requirements, separated by blanks
  bool (*broken)(const Sample&, const Progress&);
  std::span<const bytes::Fault> faults;  ///< faults that the peer's Terminate may report
  unsigned flags = 0;
};

/// If a sample violates this rule, the rules after it in the table are not checked, because their
/// result would mean nothing.
inline constexpr unsigned kAlone = 1;
/// The peer may send a Terminate with any error code, because the RFCs do not define the code.
inline constexpr unsigned kAnyTerminate = 2;
inline constexpr unsigned kMayClose = 4;  ///< the peer may also close without a Terminate
inline constexpr unsigned kMayGoOn = 8;   ///< the peer may accept the message and continue
/// The peer may continue, but must not deliver the message to its program.
inline constexpr unsigned kUndelivered = 16;
inline constexpr unsigned kNoTerminate = 32;  ///< the stream must end without a Terminate
inline constexpr unsigned kNoHeaders = 64;    ///< the peer's Terminate need not return headers

struct Expectation {
  std::vector<const Rule*> broken;
  std::vector<bytes::Fault> faults;
  unsigned flags = 0;  ///< the combined flags of all violated rules
  bool is_valid() const { return broken.empty(); }
  bool has(unsigned flag) const { return (flags & flag) != 0; }
  /// Describes the reactions that are permitted: "continues", "Terminate 1/1/00 or 1/1/02", ...
  std::string text() const;
};

Expectation judge(const Sample& sample, const Progress& progress);
std::span<const Rule> all_rules();

}  // namespace iwarp::apps::conform::generated
