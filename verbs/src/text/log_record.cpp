// SPDX-License-Identifier: Apache-2.0
// Formats a LogRecord as text, logfmt or JSON. Characters other than printable ASCII become "?", so
// that no text can add a line or control a terminal.
#include "iwarp/verbs/log_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace iwarp::verbs {
namespace {

constexpr std::array kLevels{"off", "error", "warning", "info", "debug"};

/// Returns the time as in RFC 3339, in UTC with milliseconds.
std::string time_text(std::chrono::system_clock::time_point now) {
  using namespace std::chrono;
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<milliseconds>(now - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

/// Quotes text for kLogfmt and kJson. In printable ASCII, only '"' and '\' need a backslash.
std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string logfmt_value(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '=' && c != '\\';
  });
  return plain ? std::string(text) : quoted_text(text);
}

class Line {
 public:
  explicit Line(LogFormat format) : is_json_(format == LogFormat::kJson) {}
  void add(const LogField& field) {
    if (!out_.empty()) out_ += is_json_ ? ", " : " ";
    out_ += is_json_ ? quoted_text(field.key) + ": " : printable(field.key) + '=';
    out_ += field.is_number ? field.value
            : is_json_      ? quoted_text(field.value)
                            : logfmt_value(field.value);
  }
  std::string take() && { return is_json_ ? "{" + out_ + "}" : std::move(out_); }

 private:
  const bool is_json_;
  std::string out_;
};

}  // namespace

const char* to_string(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

std::string log_line(const LogRecord& record, LogFormat format,
                     std::chrono::system_clock::time_point now, long process) {
  if (format == LogFormat::kText) return printable(record.message);
  Line line(format);
  line.add({"time", time_text(now)});
  line.add({"level", to_string(record.level)});
  line.add({"pid", static_cast<std::uint64_t>(process)});
  line.add({"event", record.event});
  for (const LogField& field : record.fields) line.add(field);
  line.add({"msg", record.message});
  return std::move(line).take();
}

std::optional<LogLevel> log_level(std::string_view name) {
  if (name == "refusals") return LogLevel::kWarning;
  if (name == "connections") return LogLevel::kInfo;
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::optional<LogFormat> log_format(std::string_view name) {
  if (name == "text") return LogFormat::kText;
  if (name == "logfmt") return LogFormat::kLogfmt;
  if (name == "json") return LogFormat::kJson;
  return std::nullopt;
}

}  // namespace iwarp::verbs
