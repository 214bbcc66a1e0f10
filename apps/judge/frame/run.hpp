// SPDX-License-Identifier: Apache-2.0
// Runs cases, each in a process of its own, so that a device that crashes or stalls loses only the
// case.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "judge/frame/judge.hpp"
#include "report/report.hpp"

namespace iwarp::judge {

using Verdict = apps::report::Outcome;

/// Named values that a child process returns besides its comparisons.
using Answers = std::map<std::string, std::string>;

struct Result {
  const Case* what = nullptr;
  Verdict verdict = Verdict::kPass;
  std::vector<Observation> observations;  ///< in order; those that are wrong make the case fail
  Answers answers;
  std::string why;  ///< of kRefused and kNotApplicable; of kFail, if the process crashed or stalled
  bool is_gone = false;  ///< whether the case failed because there is no such device
  std::chrono::nanoseconds took{};
};

/// Calls `run` in a child process, as a case, and returns its comparisons and answers. After
/// `limit` the child is killed and the case has failed. Throws apps::Interrupted if a stop signal
/// arrives, and apps::Error if no process can be started. The calling process must not have opened
/// a device.
Result run_in_child(const std::function<Answers(Judge&)>& run, const Target& target,
                    std::chrono::nanoseconds limit);

/// Runs a case in a child process, unless the device lacks what it needs.
Result run_case(const Case& what, const Target& target, std::chrono::nanoseconds limit);

}  // namespace iwarp::judge
