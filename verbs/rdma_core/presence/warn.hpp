// SPDX-License-Identifier: Apache-2.0
// Prints the log lines of the presence library.
#pragma once

#include <unistd.h>

#include <string>

#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {

/// Writes one line to standard error, unless IWARP_LOG excludes lines of this level. Calls no
/// function that this library replaces.
inline void log_line(verbs::LogLevel level, const char* event, const std::string& message) {
  const Settings settings = settings_now();
  if (settings.log < level) return;
  const std::string line =
      line_of({.level = level, .event = event, .message = message}, settings.log_format);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

inline void warn(const char* event, const std::string& message) {
  log_line(verbs::LogLevel::kWarning, event, message);
}

}  // namespace iwarp::rdma_core::presence
