// SPDX-License-Identifier: Apache-2.0
// Runs the programs of an exercise within limits, so that a program that loops, prints without end
// or writes beyond its memory cannot harm the judge. The limits are for mistakes, not for
// attackers: a program has the rights of the user.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace iwarp::apps::learn {

/// A process to run.
struct Program {
  std::vector<std::string> words;  ///< a path, or a name for $PATH, and the arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< besides the own environment
  int descriptor = -1;  ///< a descriptor that the process inherits with this number; -1: none
  /// Whether to kill the process if it calls fork() or kill().
  bool is_single = false;
  std::uint64_t memory = std::uint64_t{4} << 30;  ///< most bytes of address space; 0: unlimited
  std::uint64_t seconds = 0;  ///< most processor time; 0: unlimited. Reached, it is a kTimeLimit
};

enum class End : std::uint8_t {
  kExited,
  kSignal,
  kTimeLimit,
  kOutputLimit,
  kKilled,  ///< killed because the first program had ended
};

/// How a process ended, and what it printed.
struct Ended {
  End end = End::kExited;
  int status = 0;      ///< exit status for kExited, number of the signal for kSignal
  std::string output;  ///< both streams, in the order in which the process wrote
};

/// Runs the programs at the same time, in `folder`, and waits until all have ended. Kills those
/// that have not ended when `limit` is over, counted again after the first program has ended. No
/// process that these programs have started runs when the function returns. Throws Error if a
/// program cannot be started, and Interrupted on a stop signal; kills all programs in these cases,
/// too.
std::vector<Ended> run_together(const std::vector<Program>& programs,
                                const std::filesystem::path& folder,
                                std::chrono::milliseconds limit);

}  // namespace iwarp::apps::learn
