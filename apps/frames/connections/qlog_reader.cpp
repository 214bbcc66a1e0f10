// SPDX-License-Identifier: Apache-2.0
// Splits the octets of a file into records, and converts the records to events of connections.
#include "frames/connections/qlog_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "frames/connections/qlog_event.hpp"
#include "iwarp/bytes/parse_json.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::apps::frames {
namespace {

using nlohmann::json;

constexpr char kSeparator = '\x1E';
constexpr std::string_view kOwnPrefix = "iwarp:";
constexpr std::size_t kExcerpt = 60;
/// Maximum absolute value of a time, in nanoseconds. With this limit the difference of two times
/// fits in 64 bits.
constexpr double kMaxTime = 4.6e18;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Converts an RFC 3339 time in UTC to nanoseconds since 1970. Returns 0 if the text is not such a
/// time.
std::int64_t parse_date_time(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  double second = 0;
  char zone = 0;
  const int found = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2u:%2u:%10lf%c", &year, &month, &day,
                                &hour, &minute, &second, &zone);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  const bool plausible = found == 7 && zone == 'Z' && year >= 1970 && year < 2100 && date.ok() &&
                         hour < 24 && minute < 60 && second >= 0 && second < 61;
  if (!plausible) return 0;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const auto seconds = ((std::int64_t{days} * 24 + hour) * 60 + minute) * 60;
  return seconds * 1'000'000'000 + std::llround(second * 1e9);
}

const json* member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

QlogReader::QlogReader(ConnectionListener& listener, Connections::Counts& counts, Complain complain)
    : connections_(listener, counts), counts_(counts), complain_(std::move(complain)) {}

void QlogReader::octets(std::string_view octets) {
  while (!octets.empty()) {
    const auto end = std::min(octets.find(kSeparator), octets.size());
    const auto part = octets.substr(0, end);
    if (record_.size() + part.size() > kMaxRecord) too_long_ = true;
    if (!too_long_) record_ += part;
    offset_ += part.size();
    octets.remove_prefix(end);
    if (octets.empty()) return;
    end_record();
    octets.remove_prefix(1);
    begin_ = offset_++;
    in_record_ = true;
  }
}

bool QlogReader::finish() {
  end_record();
  connections_.finish();
  if (left_out_ > kMaxComplaints) {
    complain_(fmt::format("further records left out: {}", left_out_ - kMaxComplaints));
  }
  if (foreign_ != 0) {
    complain_(fmt::format(
        "left out because their name space is not \"iwarp\": {} events; the first is {}", foreign_,
        first_foreign_));
  }
  if (events_ == 0) complain_("contains no event of an iWARP connection");
  return left_out_ == 0 && events_ != 0;
}

void QlogReader::leave_out(const std::string& why) {
  if (++left_out_ <= kMaxComplaints) {
    complain_(fmt::format("record {} at octet {} was left out: {}", number_, begin_, why));
  }
}

void QlogReader::end_record() {
  const bool blank = !too_long_ && is_blank(record_);
  if (!blank && !in_record_) {
    leave_out("no record separator before it (only JSON text sequences are supported)");
  } else if (!blank) {
    ++number_;
    ++counts_.records;
    if (too_long_) {
      leave_out(fmt::format("longer than {} octets", kMaxRecord));
    } else if (const char* why = record(record_)) {
      leave_out(why);
    }
  }
  record_.clear();
  too_long_ = false;
}

const char* QlogReader::record(std::string_view text) {
  if (text.back() != '\n') return "truncated";
  const auto object = bytes::parse_json<json>(text, kMaxDepth);
  if (!object) return object.error();
  if (!object->is_object()) return "not a JSON object";
  if (number_ == 1 && member(*object, "name") == nullptr) return header(*object);
  return event(*object);
}

const char* QlogReader::header(const json& header) {
  const auto* schema = member(header, "file_schema");
  if (schema == nullptr || *schema != "urn:ietf:params:qlog:file:sequential") {
    return "not the header of a qlog file with the sequential schema";
  }
  has_header_ = true;
  const auto* trace = member(header, "trace");
  const auto* common = trace == nullptr ? nullptr : member(*trace, "common_fields");
  if (common == nullptr) return nullptr;
  const auto* group = member(*common, "group_id");
  if (group != nullptr && group->is_string()) group_ = group->get_ref<const std::string&>();
  const auto* format = member(*common, "time_format");
  relative_to_previous_ = format != nullptr && *format == "relative_to_previous_event";
  const auto* reference = member(*common, "reference_time");
  const auto* wall = reference == nullptr ? nullptr : member(*reference, "wall_clock_time");
  if (wall != nullptr && wall->is_string()) {
    start_ = parse_date_time(wall->get_ref<const std::string&>());
  }
  return nullptr;
}

const char* QlogReader::event(const json& event) {
  const auto* name = member(event, "name");
  const auto* time = member(event, "time");
  const auto* data = member(event, "data");
  if (name == nullptr || !name->is_string()) return "`name` is missing or not a string";
  const std::string_view full = name->get_ref<const std::string&>();
  if (!full.starts_with(kOwnPrefix)) {
    if (foreign_++ == 0) {
      first_foreign_ = fmt::format("record {} at octet {}: {}", number_, begin_,
                                   verbs::printable(full.substr(0, kExcerpt)));
    }
    return nullptr;
  }
  if (time == nullptr || !time->is_number()) return "`time` is missing or not a number";
  const double at = time->get<double>() + (relative_to_previous_ ? time_ : 0);
  const double nanoseconds = at * 1e6;
  if (!(std::abs(nanoseconds) < kMaxTime &&
        std::abs(static_cast<double>(start_) + nanoseconds) < kMaxTime)) {
    return "`time` is out of range";
  }
  if (data == nullptr || !data->is_object()) return "`data` is missing or not an object";
  const auto* group = member(event, "group_id");
  if (group != nullptr && !group->is_string()) return "`group_id` is not a string";
  time_ = at;
  mark_ = {.nanoseconds = start_ + std::llround(nanoseconds), .packet = number_};
  const auto& of = group != nullptr ? group->get_ref<const std::string&>() : group_;
  const char* const why = known_event(full.substr(kOwnPrefix.size()), of, *data);
  if (why == nullptr) ++events_;
  return why;
}

const char* QlogReader::known_event(std::string_view name, const std::string& group,
                                    const json& data) {
  if (name == "frame_sent" || name == "frame_received") {
    const auto octets = octets_of(data);
    if (!octets) return "invalid `offset` or `raw`";
    return connections_.octets(group, name == "frame_sent", octets->offset, octets->octets, mark_);
  }
  if (name == "datagram_sent" || name == "datagram_received") {
    const auto ends = datagram_ends_of(data);
    const auto octets = raw_octets_of(data);
    if (!ends || !octets) return "invalid `local`, `remote` or `raw`";
    return connections_.datagram(name == "datagram_sent", *ends, *octets, mark_);
  }
  if (name == "connection_started") {
    const auto ends = ends_of(data);
    return ends ? connections_.started(group, *ends, mark_)
                : "invalid `local`, `remote` or `opened_by`";
  }
  if (name == "connection_closed") {
    const auto* by = member(data, "by");
    const auto* how = member(data, "how");
    if (by == nullptr || how == nullptr) return "`by` or `how` is missing";
    return connections_.closed(group, *by == "local", *how == "reset", mark_);
  }
  if (name == "connection_ended") return connections_.ended(group, mark_);
  const auto event = local_event(name, data);
  return event ? connections_.local(group, *event, mark_)
               : "unknown event, or a member is missing or invalid";
}

}  // namespace iwarp::apps::frames
