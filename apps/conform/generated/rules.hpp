// SPDX-License-Identifier: Apache-2.0
// What the RFCs have a peer do about a sample: a list of rules, each of which a sample breaks or
// keeps, whatever it was made by. Of several broken rules a peer may report any.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conform/generated/sample.hpp"

namespace iwarp::apps::conform::generated {

struct Rule {
  std::string_view name;          ///< what a sample that breaks it is like
  std::string_view requirements;  ///< rows, separated by blanks
  bool (*broken)(const Sample&, const Progress&);
  std::span<const bytes::Fault> faults;  ///< Terminates that are right
  unsigned flags = 0;
};

inline constexpr unsigned kAlone = 1;         ///< nothing else can be judged
inline constexpr unsigned kAnyTerminate = 2;  ///< the RFCs fix no code
inline constexpr unsigned kMayClose = 4;      ///< also without a Terminate
inline constexpr unsigned kMayGoOn = 8;       ///< the RFCs let a peer take it
inline constexpr unsigned kUndelivered = 16;  ///< and yet its program does not see it
inline constexpr unsigned kNoTerminate = 32;  ///< the end, and no Terminate
inline constexpr unsigned kNoHeaders = 64;    ///< its Terminate need not bring headers back

struct Expectation {
  std::vector<const Rule*> broken;
  std::vector<bytes::Fault> faults;
  unsigned flags = 0;  ///< of all rules that are broken
  bool is_valid() const { return broken.empty(); }
  bool has(unsigned flag) const { return (flags & flag) != 0; }
  /// "goes on", "Terminate 1/1/00 or 1/1/02", ...
  std::string text() const;
};

Expectation judge(const Sample& sample, const Progress& progress);
std::span<const Rule> all_rules();

}  // namespace iwarp::apps::conform::generated
