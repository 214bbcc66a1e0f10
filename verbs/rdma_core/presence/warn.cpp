// SPDX-License-Identifier: Apache-2.0
#include "presence/warn.hpp"

#include <unistd.h>

#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {

void log_line(verbs::LogLevel level, const char* event, const std::string& message) {
  const Settings settings = settings_now();
  if (settings.log < level) return;
  const std::string line =
      line_of({.level = level, .event = event, .message = message}, settings.log_format);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace iwarp::rdma_core::presence
