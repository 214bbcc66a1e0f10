// SPDX-License-Identifier: Apache-2.0
// LogRecord: an event for a log, and functions that format it as one line. They write nothing, and
// get the time as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::verbs {

/// Importance of a record. A log with some level contains the records of that level and of the
/// levels before it.
enum class LogLevel : std::uint8_t {
  kOff,      ///< no records
  kError,    ///< the stack itself does not work
  kWarning,  ///< a requested feature was refused, and the application continues without it
  kInfo,     ///< a connection or transfer begins or ends
  kDebug,    ///< steps and figures of connections and transfers
};
/// Returns "off", "error", "warning", "info" or "debug".
const char* to_string(LogLevel level);

/// How a record is written.
enum class LogFormat : std::uint8_t {
  kText,    ///< the message alone
  kLogfmt,  ///< time=... level=... pid=... event=... key=value ... msg="..."
  kJson,    ///< one JSON object with these keys
};

/// One named value of a record.
struct LogField {
  const char* key;
  std::string value;
};

/// One event.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  const char* event = "";        ///< name of the kind of event, a constant for filters
  std::string message;           ///< the event as a sentence
  std::vector<LogField> fields;  ///< the event as data; omitted in kText
};

/// Returns `text`, which a peer may have chosen, with '?' for every byte outside printable ASCII.
std::string printable(std::string_view text);

/// Formats a record, without a line feed. `process` is a process id. The line is printable ASCII,
/// whatever the record contains.
std::string log_line(const LogRecord& record, LogFormat format,
                     std::chrono::system_clock::time_point now, long process);

/// Parses the name of a level. The former names "refusals" (warning) and "connections" (info) are
/// accepted too. Returns nullopt for any other name.
std::optional<LogLevel> log_level(std::string_view name);
/// Parses "text", "logfmt" or "json". Returns nullopt for any other name.
std::optional<LogFormat> log_format(std::string_view name);

}  // namespace iwarp::verbs
