// SPDX-License-Identifier: Apache-2.0
// Runs a litmus program on a device many times, each time with other delays between the statements,
// and counts the outcomes. The queue pairs of a file are connected once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/frame/judge.hpp"
#include "judge/litmus/program.hpp"

namespace iwarp::judge::litmus {

struct Result {
  enum class Verdict : std::uint8_t {
    kRight,          ///< no forbidden outcome was seen
    kForbidden,      ///< the device did what the standard forbids
    kFailed,         ///< a call, a request or a wait of the program failed
    kNotApplicable,  ///< the device lacks what the program requires
  };
  Verdict verdict = Verdict::kRight;
  std::string why;  ///< of kFailed and kNotApplicable
  litmus::Verdict expected;
  std::uint64_t runs = 0;
  std::chrono::duration<double> took{};
  std::uint64_t hits = 0;  ///< runs whose outcome has the property that the question asks for
  struct Count {
    std::uint64_t runs = 0;
    bool is_hit = false;
  };
  /// The values of Program::shown, and how often they came.
  std::map<std::vector<std::uint64_t>, Count> histogram;
};

/// Runs `program` `runs` times. The delays depend on `seed`, but the outcomes also depend on the
/// scheduler.
Result run(const Program& program, const Target& target, std::uint64_t runs, std::uint64_t seed);

struct Options {
  std::string path;  ///< a file, or a directory of *.litmus; empty: the files that are built in
  std::uint64_t runs = 0;
  std::uint64_t seed = 0;
  std::optional<std::string> json;  ///< where to write the report as JSON; "": standard output
};

/// Runs each file and prints a report, which replaces the text if it is JSON for standard output.
/// Returns the exit status: 1 if a forbidden outcome was seen or a program failed. Throws
/// UsageError if a file cannot be read or parsed.
int run_files(const Target& target, const Options& options);

}  // namespace iwarp::judge::litmus
