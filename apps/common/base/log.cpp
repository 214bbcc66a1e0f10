// SPDX-License-Identifier: Apache-2.0
// Writes each record as one whole line.
#include "common/base/log.hpp"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <utility>

namespace iwarp::apps {

namespace {

struct Log {
  verbs::LogLevel level = verbs::LogLevel::kInfo;
  verbs::LogFormat format = verbs::LogFormat::kText;
  std::mutex mutex;
};

Log& process_log() {
  static Log log;
  return log;
}

}  // namespace

void add_log_options(cli::Command& command, LogOptions& options) {
  command.choice("--log", options.level, {"off", "error", "warning", "info", "debug"},
                 "Log events of this level and of more severe levels to standard output");
  command.choice("--log-format", options.format, {"text", "logfmt", "json"},
                 "Format of these events: text for human readers; logfmt (key=value) or json (an "
                 "object per line) for programs");
}

void set_log(const LogOptions& options) {
  process_log().level = verbs::log_level(options.level).value();
  process_log().format = verbs::log_format(options.format).value();
}

void log_event(const verbs::LogRecord& record) {
  Log& log = process_log();
  if (record.level > log.level) return;
  const auto now = std::chrono::system_clock::now();
  const auto line = verbs::log_line(record, log.format, now, ::getpid()) + "\n";
  const std::lock_guard lock(log.mutex);
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

std::optional<std::uint64_t> LogLimit::admit(Clock::time_point now) {
  constexpr unsigned kPerSecond = 10;
  if (now - since_ >= std::chrono::seconds(1)) {
    since_ = now;
    logged_ = 0;
  }
  if (logged_ == kPerSecond) {
    ++left_out_;
    return std::nullopt;
  }
  ++logged_;
  return std::exchange(left_out_, 0);
}

void log_info(const char* event, std::string message, std::vector<verbs::LogField> fields) {
  log_event({.event = event, .message = std::move(message), .fields = std::move(fields)});
}

}  // namespace iwarp::apps
