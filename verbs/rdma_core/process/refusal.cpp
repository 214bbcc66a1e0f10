// SPDX-License-Identifier: Apache-2.0
// The log. Each line is written to standard error with a single write(2), so that lines of
// different threads and processes do not mix.
#include "process/refusal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "iwarp/verbs/error_guide.hpp"
#include "process/call_site.hpp"
#include "process/core.hpp"
#include "process/errno_table.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {
namespace {

void say(const verbs::LogRecord& record) {
  const std::string line = line_of(record, settings().log_format);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

LineLimit& line_limit() {
  // The object is never destroyed, because a thread may log after main() has returned.
  static auto& limit = *new LineLimit;
  return limit;
}

/// Appends the command that explains why `call` fails with the errno `code`, if there is one. The
/// command follows the advice in parentheses with which `why` may end.
std::string with_command(std::string why, const char* call, int code) {
  const char* const error = ::strerrorname_np(code);
  if (call == nullptr || error == nullptr) return why;
  const bool is_explained = std::ranges::any_of(
      verbs::kExplainedCalls,
      [&](const verbs::CallError& one) { return one.call == call && one.error == error; });
  if (!is_explained) return why;
  const bool has_advice = why.ends_with(')');
  if (has_advice) why.pop_back();
  return fmt::format("{}{}see iwarp explain-error {} {})", why, has_advice ? "; " : " (", call,
                     error);
}

/// Implements refuse() and refused() for features. `code` is the errno of the call, or 0.
void log_unsupported(std::string_view what, std::string_view why, int code) {
  CallSite::explain();
  if (!is_logged(verbs::LogLevel::kWarning)) return;
  or_no_memory([&] {
    if (!line_limit().admits_once(std::hash<std::string_view>{}(what))) return;
    say({.level = verbs::LogLevel::kWarning,
         .event = "not_supported",
         .message = with_command(fmt::format("{} is not supported: {}", what, why),
                                 CallSite::call(), code),
         .fields = {{"what", std::string(what)}, {"why", std::string(why)}}});
  });
}

}  // namespace

bool LineLimit::admits(std::size_t line, TimePoint now) {
  constexpr std::size_t kMost = 4096;
  const std::lock_guard lock(mutex_);
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    in_second_ = 0;
  }
  if (in_second_ >= kMostInASecond || written_.size() >= kMost) return false;
  if (!written_.insert(line).second) return false;
  ++in_second_;
  return true;
}

bool LineLimit::admits_once(std::size_t line) {
  const std::lock_guard lock(mutex_);
  return written_.insert(line).second;
}

bool is_logged(verbs::LogLevel level) { return level <= settings().log; }

void refuse(std::string_view what, std::string_view why) { log_unsupported(what, why, 0); }

// [RCM-69]
int refused(std::string_view what, std::string_view why) {
  log_unsupported(what, why, EOPNOTSUPP);
  return EOPNOTSUPP;
}

int log_refused(int code, std::size_t reason, fmt::string_view why,
                fmt::format_args args) noexcept {
  const char* const call = CallSite::call();
  if (call == nullptr || CallSite::is_explained()) return code;
  CallSite::explain();
  if (!is_logged(verbs::LogLevel::kWarning)) return code;
  // The call fails with `code` even if there is no memory for the line.
  or_no_memory([&] {
    const auto line = reason * 31 + std::hash<const void*>{}(CallSite::current());
    if (!line_limit().admits(line, std::chrono::steady_clock::now())) return;
    say({.level = verbs::LogLevel::kWarning,
         .event = "refused_call",
         .message = std::string(call) + ": " + with_command(fmt::vformat(why, args), call, code),
         .fields = {{"call", call}, {"error", std::generic_category().message(code)}}});
  });
  return code;
}

int refused(const std::error_code& error) noexcept {
  const int code = to_errno(error);
  if (code == 0 || CallSite::call() == nullptr) return code;
  or_no_memory([&] {
    const std::string text = error.message();
    log_refused(code, std::hash<std::string>{}(text), "{}", fmt::make_format_args(text));
  });
  return code;
}

void explain_failure(int code) noexcept {
  // Calls with an object of the parent fail with EIO, see Core::alive().
  if (code == EIO && Core::parent_had_core()) {
    (void)refused(EIO,
                  "the object belongs to the parent of this process (after fork(), open the device "
                  "in the child and create the objects there)");
    return;
  }
  (void)refused(std::error_code(code, std::generic_category()));
}

void fail(int code) { throw std::system_error(code, std::generic_category()); }

void log_event(const verbs::LogRecord& record) {
  if (is_logged(record.level)) say(record);
}

void log_refusal(const std::string& line) {
  CallSite::explain();
  log_event({.level = verbs::LogLevel::kWarning, .event = "refused", .message = line});
}

void log_stream_end(const verbs::StreamEnd& end, const std::string& message,
                    std::vector<verbs::LogField> fields) {
  if (end.work) fields.push_back({"wr_id", fmt::format("{:#x}", end.work->wr_id)});
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
