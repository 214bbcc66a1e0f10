// SPDX-License-Identifier: Apache-2.0
// Functions that write the log. The log reports each unsupported feature once, each reason why a
// call fails once for each place in the program, and events of connections.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "iwarp/verbs/log_record.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::rdma_core {

/// Decides which lines about failed calls the log contains: each line once, and at most
/// kMostInASecond lines in a second, because a program may make failing calls in a loop.
/// Thread-safe.
class LineLimit {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr int kMostInASecond = 10;
  /// Returns whether the line with the key `line` may be written at the time `now`. A line that is
  /// too early may be written when it comes up again.
  bool admits(std::size_t line, TimePoint now);
  /// Returns whether the line with the key `line` was not written yet. Lines without a limit per
  /// second must be few.
  bool admits_once(std::size_t line);

 private:
  std::mutex mutex_;
  std::unordered_set<std::size_t> written_;
  TimePoint second_;
  int in_second_ = 0;
};

/// Logs the warning "iwarp: WHAT is not supported: WHY", once for each `what` in this process.
/// The process stores a hash of each `what`, so callers must pass only few different ones.
void refuse(std::string_view what, std::string_view why);
/// Calls refuse() and returns EOPNOTSUPP.
int refused(std::string_view what, std::string_view why);

/// Implements refused() below. `reason` identifies the reason apart from the numbers in it.
int log_refused(int code, std::size_t reason, fmt::string_view why, fmt::format_args args) noexcept;

/// Returns `code`, and logs why the current call (see CallSite) fails with this errno, as the
/// warning "iwarp: CALL: WHY": which attribute, which value, what is allowed, and in parentheses
/// what to do, and the command that explains the errno of this call, if there is one. Each reason
/// is logged once for each place in the program from which the call was made. Reasons differ if
/// their formats or the texts among their arguments differ; numbers do not matter. Logs nothing if
/// the current call has no name.
template <typename... Args>
int refused(int code, fmt::format_string<const Args&...> why, const Args&... args) {
  const fmt::string_view format = why;
  std::size_t reason = std::hash<const void*>{}(format.data());
  [[maybe_unused]] const auto add = [&reason]<typename T>(const T& arg) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      reason = reason * 31 + std::hash<std::string_view>{}(arg);
    }
  };
  (add(args), ...);
  return log_refused(code, reason, format, fmt::make_format_args(args...));
}
/// Returns the errno for `error`. If the log does not say yet why the current call fails, logs the
/// text of the error.
int refused(const std::error_code& error) noexcept;
/// Does the same for an errno that refused() may have returned already.
void explain_failure(int code) noexcept;
/// Throws std::system_error with the errno `code`. guarded() converts this exception back to the
/// errno.
[[noreturn]] void fail(int code);
/// Returns whether IWARP_LOG includes messages of this level.
bool is_logged(verbs::LogLevel level);
/// Writes one line to standard error if is_logged() for the level of the record.
void log_event(const verbs::LogRecord& record);
/// Logs `line`, which says why a call failed, as a warning. The current call needs no further line.
/// For an unsupported feature, call refuse() instead.
void log_refusal(const std::string& line);
/// Logs how a connection ended: at level information if nothing failed, and otherwise as a warning.
/// `message` is the text of the log line and names the peer.
void log_stream_end(const verbs::StreamEnd& end, const std::string& message,
                    std::vector<verbs::LogField> fields);
/// Logs an event of a connection at level information.
void log_connection(const char* event, const std::string& line,
                    std::vector<verbs::LogField> fields = {});

}  // namespace iwarp::rdma_core
