// SPDX-License-Identifier: Apache-2.0
// Examines a device before the first case: whether it can be judged, and what it is.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "judge/frame/judge.hpp"

namespace iwarp::judge {

struct Examined {
  std::vector<std::pair<std::string, std::string>> about;  ///< for the head of the report
  bool is_iwarp = false;
};

/// Throws UsageError if the device cannot be judged, for example because it does not exist.
Examined examine(const Target& target, std::chrono::nanoseconds limit);

}  // namespace iwarp::judge
