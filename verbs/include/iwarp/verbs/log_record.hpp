// SPDX-License-Identifier: Apache-2.0
// An event for a log, and the one line that it becomes. Who writes it where, and when, is the
// caller's business: nothing here writes, and time is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::verbs {

/// How much is said: what is of this level or of one before it.
enum class LogLevel : std::uint8_t {
  kOff,
  kError,    ///< something of ours does not work
  kWarning,  ///< somebody was refused what he asked for, and goes on without
  kInfo,     ///< what becomes of connections and transfers
  kDebug,    ///< figures of each, and its steps
};
const char* to_string(LogLevel level);

enum class LogFormat : std::uint8_t {
  kText,    ///< the message alone
  kLogfmt,  ///< time=... level=... event=... key=value ... msg="..."
  kJson,    ///< an object with the same
};

struct LogField {
  const char* key;
  std::string value;
};

struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  const char* event = "";  ///< its name, always the same
  std::string message;     ///< for people
  std::vector<LogField> fields;
};

/// Octets that a peer may have chosen and that are about to be shown: what is no printable ASCII
/// becomes '?'.
std::string printable(std::string_view text);

/// Without a line feed. All of it is printable ASCII, whatever the record has.
std::string log_line(const LogRecord& record, LogFormat format,
                     std::chrono::system_clock::time_point now, long process);

/// "off", "error", "warning", "info", "debug"; and what these were called before: "refusals" is
/// warning, "connections" is info.
std::optional<LogLevel> log_level(std::string_view name);
/// "text", "logfmt" or "json".
std::optional<LogFormat> log_format(std::string_view name);

}  // namespace iwarp::verbs
