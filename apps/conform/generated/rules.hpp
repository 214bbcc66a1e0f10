// SPDX-License-Identifier: Apache-2.0
// What the RFCs require of a peer that receives a sample: a list of rules, each of which a sample
// violates or not, however it was generated. A peer may report any of several violated rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conform/generated/sample.hpp"

namespace iwarp::apps::conform::generated {

struct Rule {
  std::string_view name;          ///< describes a sample that violates it
  std::string_view requirements;  ///< rows, separated by blanks
  bool (*broken)(const Sample&, const Progress&);
  std::span<const bytes::Fault> faults;  ///< correct Terminates
  unsigned flags = 0;
};

inline constexpr unsigned kAlone = 1;         ///< no other rule can be judged
inline constexpr unsigned kAnyTerminate = 2;  ///< the RFCs do not define the code
inline constexpr unsigned kMayClose = 4;      ///< may also close without a Terminate
inline constexpr unsigned kMayGoOn = 8;       ///< the RFCs permit the peer to accept it
inline constexpr unsigned kUndelivered = 16;  ///< accepts it, but its program must not see it
inline constexpr unsigned kNoTerminate = 32;  ///< must end the stream without a Terminate
inline constexpr unsigned kNoHeaders = 64;    ///< its Terminate need not return headers

struct Expectation {
  std::vector<const Rule*> broken;
  std::vector<bytes::Fault> faults;
  unsigned flags = 0;  ///< of all violated rules
  bool is_valid() const { return broken.empty(); }
  bool has(unsigned flag) const { return (flags & flag) != 0; }
  /// Returns "goes on", "Terminate 1/1/00 or 1/1/02", ...
  std::string text() const;
};

Expectation judge(const Sample& sample, const Progress& progress);
std::span<const Rule> all_rules();

}  // namespace iwarp::apps::conform::generated
