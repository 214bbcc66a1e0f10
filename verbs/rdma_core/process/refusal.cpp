// SPDX-License-Identifier: Apache-2.0
// The log. Each line is written to standard error with a single write(2), so that lines of
// different threads and processes do not mix.
#include "process/refusal.hpp"

#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "process/settings.hpp"

namespace iwarp::rdma_core {
namespace {

void say(const verbs::LogRecord& record) {
  const std::string line = line_of(record, settings().log_format);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

bool first_time(const char* what) {
  // The mutex and the set are never destroyed, because a thread may log after main() has returned.
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string_view>;
  const std::lock_guard lock(mutex);
  return said.insert(what).second;
}

}  // namespace

bool is_logged(verbs::LogLevel level) { return level <= settings().log; }

void refuse(const char* what, const char* why) {
  if (!is_logged(verbs::LogLevel::kWarning) || !first_time(what)) return;
  say({.level = verbs::LogLevel::kWarning,
       .event = "not_supported",
       .message = std::string(what) + " is not supported: " + why,
       .fields = {{"what", what}, {"why", why}}});
}

int refused(const char* what, const char* why) {
  refuse(what, why);
  return EOPNOTSUPP;
}

void fail(int code) { throw std::system_error(code, std::generic_category()); }

void log_event(const verbs::LogRecord& record) {
  if (is_logged(record.level)) say(record);
}

void log_refusal(const std::string& line) {
  log_event({.level = verbs::LogLevel::kWarning, .event = "refused", .message = line});
}

void log_stream_end(const verbs::StreamEnd& end, const std::string& message,
                    std::vector<verbs::LogField> fields) {
  if (end.work) fields.push_back({"wr_id", std::to_string(end.work->wr_id)});
  if (end.terminate) fields.push_back({"terminate", bytes::to_string(end.terminate->fault)});
  log_event({.level = verbs::is_orderly(end) ? verbs::LogLevel::kInfo : verbs::LogLevel::kWarning,
             .event = "disconnected",
             .message = message,
             .fields = std::move(fields)});
}

void log_connection(const char* event, const std::string& line,
                    std::vector<verbs::LogField> fields) {
  log_event({.level = verbs::LogLevel::kInfo,
             .event = event,
             .message = line,
             .fields = std::move(fields)});
}

}  // namespace iwarp::rdma_core
