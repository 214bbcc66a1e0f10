// SPDX-License-Identifier: Apache-2.0
// LogRecord: an event for a log, and functions that format the event as one line. The functions
// write nothing, and get the time as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iwarp::verbs {

/// Importance of a record. A log of one level contains the records of that level and of the levels
/// listed before it.
enum class LogLevel : std::uint8_t {
  kOff,      ///< no records
  kError,    ///< the iWARP stack itself does not work
  kWarning,  ///< a requested feature was refused, and the application continues without it
  kInfo,     ///< a connection or transfer begins or ends
  kDebug,    ///< steps and figures of connections and transfers
};
/// Returns "off", "error", "warning", "info" or "debug".
const char* to_string(LogLevel level);

/// How a record is written.
enum class LogFormat : std::uint8_t {
  kText,    ///< only the message
  kLogfmt,  ///< time=... level=... pid=... event=... key=value ... msg="..."
  kJson,    ///< one JSON object with the keys of kLogfmt
};

/// One named value of a record: a text, or a number, which kJson writes without quotes. Numbers
/// above 2^53, which not every reader of JSON can represent, must be texts.
struct LogField {
  LogField(const char* name, std::string text) : key(name), value(std::move(text)) {}
  LogField(const char* name, std::uint64_t number)
      : key(name), value(std::to_string(number)), is_number(true) {}
  const char* key;
  std::string value;
  bool is_number = false;
};

/// One event.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  const char* event = "";        ///< constant name of the kind of event, for filters
  std::string message;           ///< the event as a sentence
  std::vector<LogField> fields;  ///< the event as data; omitted in kText
};

/// Returns `text`, which a peer may have chosen, with '?' in place of every byte outside printable
/// ASCII.
std::string printable(std::string_view text);

/// Formats a record, without a line feed. `process` is a process id. The line is printable ASCII
/// for any contents of the record.
std::string log_line(const LogRecord& record, LogFormat format,
                     std::chrono::system_clock::time_point now, long process);

/// Parses the name of a level. The former names "refusals" (warning) and "connections" (info) are
/// accepted too. Returns nullopt for any other name.
std::optional<LogLevel> log_level(std::string_view name);
/// Parses "text", "logfmt" or "json". Returns nullopt for any other name.
std::optional<LogFormat> log_format(std::string_view name);

}  // namespace iwarp::verbs
