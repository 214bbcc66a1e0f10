// SPDX-License-Identifier: Apache-2.0
// The judge: builds a student's file, runs it with the reference peer on this stack's device, and
// names the cause if it fails.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "learn/exercise.hpp"

namespace iwarp::apps::learn {

struct Verdict {
  bool has_passed = false;
  std::string cause;  ///< identifier of the cause; empty if the file has passed
  std::string says;   ///< the cause in a sentence, with the line of the student's file
  /// What the judge saw: output of compiler, program and peer, reports and exit statuses, one fact
  /// per line.
  std::vector<std::string> evidence;
  unsigned runs = 0;  ///< number of runs of the program
  std::chrono::milliseconds took{};
};

/// Judges `source`: runs it once, and then on the adversarial device with the seeds 1 to `seeds`
/// until it fails. Leaves no file and no process behind. Throws Error if the file cannot be read,
/// or if this machine cannot run any exercise; the text says what is missing. Throws Interrupted on
/// a stop signal.
Verdict judge(const Exercise& exercise, const std::filesystem::path& source, unsigned seeds);

}  // namespace iwarp::apps::learn
