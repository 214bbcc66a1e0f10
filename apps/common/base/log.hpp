// SPDX-License-Identifier: Apache-2.0
// Writes the log of a server to standard output, one line per event. Thread-safe.
#pragma once

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

}  // namespace iwarp::apps
