// SPDX-License-Identifier: Apache-2.0
#include "presence/warn.hpp"

#include <unistd.h>

#include <cstdlib>

#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {

void warn(const char* event, const std::string& message) {
  const auto settings =
      read_settings([](const char* name) { return ::secure_getenv(name); }, [](const auto&) {});
  if (settings.log < verbs::LogLevel::kWarning) return;
  const std::string line =
      line_of({.level = verbs::LogLevel::kWarning, .event = event, .message = message},
              settings.log_format);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace iwarp::rdma_core::presence
