// SPDX-License-Identifier: Apache-2.0
// Writes the log of a server to standard output, one line per event. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line/command.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::apps {

struct LogOptions {
  std::string level = "info";
  std::string format = "text";
};
void add_log_options(cli::Command& command, LogOptions& options);

/// Sets which records are logged, and their format. Call before any thread logs.
void set_log(const LogOptions& options);
void log_event(const verbs::LogRecord& record);
/// Logs an event at LogLevel::kInfo.
void log_info(const char* event, std::string message, std::vector<verbs::LogField> fields = {});

/// Limits how often lines of one kind are logged: ten per second. Not thread-safe.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;
  /// Returns how many lines were left out since the last line that was logged, or nullopt if this
  /// line must be left out as well.
  std::optional<std::uint64_t> admit(Clock::time_point now);

 private:
  Clock::time_point since_;
  unsigned logged_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace iwarp::apps
