// SPDX-License-Identifier: Apache-2.0
// Reads tables of measurements. Three readers share the checks of rows: one for tables with a
// header, one for perftest (text, and its JSON, which is read line by line because old versions
// write it without quotes), and one for fio. Nothing is guessed silently.
#include "iwarp/offload_model/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>

#include "iwarp/bytes/parse_json.hpp"

namespace iwarp::offload_model {

namespace {

using Words = std::vector<std::string_view>;
using Wrong = std::unexpected<std::string>;
using Json = nlohmann::ordered_json;

constexpr double kMillion = 1e6;
constexpr double kBitsPerGbOctet = 8e-9;
constexpr double kAgree = 0.03;  // two numbers of one row agree if they differ by less than this

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kIgnored = " \t\r\"'`*>{}[],";
  const auto first = text.find_first_not_of(kIgnored);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kIgnored) - first + 1);
}

Words split_at(std::string_view text, std::string_view separators, bool keep_empty) {
  Words out;
  while (true) {
    const auto end = text.find_first_of(separators);
    const auto word = trimmed(text.substr(0, end));
    if (keep_empty || !word.empty()) out.push_back(word);
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return out;
}

/// Reads a number at the start of a word, with a suffix k, M or G of fio.
std::optional<double> number_in(std::string_view word, double kilo = 1000) {
  double value = 0;
  const auto* const end = word.end();
  const auto [rest, error] = std::from_chars(word.begin(), end, value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  const auto unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  constexpr std::string_view kUnits = "kmg";
  if (unit.empty()) return value;
  const auto power = static_cast<double>(kUnits.find(lower_case(unit.substr(0, 1))) + 1);
  return value * std::pow(kilo, power);  // 0 without a suffix: npos + 1
}

/// Reads a word that must be a number as a whole.
std::optional<double> whole_number(std::string_view word) {
  return word.find_first_not_of("0123456789.eE+-") == word.npos ? number_in(word) : std::nullopt;
}

bool agree(double a, double b, double rounding = 0) {
  return std::abs(a - b) <= kAgree * std::max(std::abs(a), std::abs(b)) + rounding;
}

// Tables with a header
// --------------------
enum Column : std::uint8_t {
  kSize,
  kConnections,
  kDepth,
  kWay,
  kRate,
  kGbps,
  kCpu,
  kCores,
  kErrors,
  kColumns
};
struct ColumnName {
  std::string_view names;  // each between blanks
  Column column;
};
constexpr std::array kColumnNames{
    ColumnName{" payload_bytes size bytes message_size bs ", kSize},
    ColumnName{" connections qps numjobs ", kConnections},
    ColumnName{" in_flight depth iodepth ", kDepth},
    ColumnName{" way operation op mode ", kWay},
    ColumnName{" requests_per_s messages_per_s ops_per_s iops rate ", kRate},
    ColumnName{" gbps gb_per_s gbit_per_s ", kGbps},
    ColumnName{" cpu_us_per_request cpu_us_per_op cpu_us ", kCpu},
    ColumnName{" cores ", kCores},
    ColumnName{" errors ", kErrors}};

struct Header {
  std::array<std::optional<std::size_t>, kColumns> at;
  Words names;
  std::string_view separators;
};

std::optional<Header> header_of(std::string_view line) {
  Header out;
  out.separators = line.find('\t') != line.npos ? "\t" : line.find(',') != line.npos ? "," : " ";
  out.names = split_at(line, out.separators, true);
  for (std::size_t i = 0; i < out.names.size(); ++i) {
    const auto name = " " + lower_case(out.names[i]) + " ";
    const auto* const found = std::ranges::find_if(
        kColumnNames, [&](const ColumnName& c) { return c.names.find(name) != c.names.npos; });
    if (found != kColumnNames.end()) out.at[found->column] = i;
  }
  const bool measured = out.at[kRate] || out.at[kGbps] || out.at[kCpu];
  return out.at[kSize] && measured ? std::optional(out) : std::nullopt;
}

using Values = std::array<double, kColumns>;

/// Returns whether rate, processor time and cores agree, if a row has all of them.
bool is_consistent(const Values& v) {
  const auto cores = v[kRate] * v[kCpu] / kMillion;
  return cores == 0 || v[kCores] == 0 || agree(cores, v[kCores], 0.01);
}

bool is_missing(std::string_view word) {
  return word.empty() || word == "-" || lower_case(word).starts_with("n");
}

/// Returns the numbers of a row, with 0 for those that it lacks.
std::expected<Values, std::string> values_of(const Header& h, const Words& words, unsigned number) {
  Values out{};
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (!h.at[c] || c == kWay || is_missing(words[*h.at[c]])) continue;
    const auto value = whole_number(words[*h.at[c]]);
    if (!value) {
      return Wrong(fmt::format("line {}: \"{}\" is \"{}\", but a number was expected", number,
                               h.names[*h.at[c]], words[*h.at[c]]));
    }
    out[c] = *value;
  }
  return out;
}

/// Reads a row again without the word after the rate, if this is the throughput in Gb/s, which the
/// header does not name and which shifts all further columns.
std::optional<Values> without_unnamed_gbps(const Header& h, Words words) {
  const auto at = *h.at[kRate] + 1;
  if (h.at[kGbps] || at >= words.size()) return std::nullopt;
  const auto gbps = whole_number(words[at]).value_or(-1);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  words.emplace_back();
  const auto v = values_of(h, words, 0);
  const bool right =
      v && is_consistent(*v) && agree((*v)[kRate] * (*v)[kSize] * kBitsPerGbOctet, gbps, 0.01);
  return right ? std::optional(*v) : std::nullopt;
}

std::expected<void, std::string> table_row(const Header& h, std::string_view line, unsigned number,
                                           CardSamples& out) {
  auto words = split_at(line, h.separators, h.separators != " ");
  if (words.size() > h.names.size() + 1 || words.size() <= *h.at[kSize]) {
    return Wrong(fmt::format("line {}: {} columns, but the header has {}", number, words.size(),
                             h.names.size()));
  }
  words.resize(std::max(words.size(), h.names.size()));
  auto values = values_of(h, words, number);
  if (!values) return Wrong(values.error());
  auto& v = *values;
  if (!is_consistent(v)) {
    const auto shifted = without_unnamed_gbps(h, words);
    if (!shifted) {
      return Wrong(
          fmt::format("line {}: {} messages/s at {} us of processor time each use {:.3g} cores, "
                      "but \"{}\" is {}",
                      number, v[kRate], v[kCpu], v[kRate] * v[kCpu] / kMillion,
                      h.names[*h.at[kCores]], v[kCores]));
    }
    v = *shifted;
    if (out.notes.empty()) {
      out.notes.push_back(fmt::format(
          "from line {} on, the rows have a column that the header lacks: {} Gb/s after \"{}\"; it "
          "is skipped, because only then do rate, processor time and cores agree",
          number, words[*h.at[kRate] + 1], h.names[*h.at[kRate]]));
    }
  }
  if (v[kSize] < 1) {
    return Wrong(fmt::format("line {}: \"{}\" must be at least 1", number, h.names[*h.at[kSize]]));
  }
  CardSample s{.line = number,
               .way = std::string(h.at[kWay] ? words[*h.at[kWay]] : "message"),
               .size = v[kSize],
               .connections = std::max(1.0, v[kConnections]),
               .depth = std::max(1.0, v[kDepth]),
               .rate = v[kRate],
               .cpu = v[kCpu],
               .errors = v[kErrors]};
  if (s.rate == 0) s.rate = v[kGbps] / (s.size * kBitsPerGbOctet);
  if (s.rate == 0 && s.cpu > 0) s.rate = v[kCores] / s.cpu * kMillion;
  if (s.cpu == 0 && s.rate > 0) s.cpu = v[kCores] / s.rate * kMillion;
  if (s.rate > 0) out.rows.push_back(s);
  return {};
}

// perftest and fio
// ----------------
enum Unit : std::uint8_t { kNone, kOctets, kPeak, kAverage, kMpps, kLatency, kCpuUtil, kUnits };

struct PerftestColumn {
  std::string_view name;
  std::string_view json;
  Unit unit;
};
/// The columns whose values matter. "t_typical" comes before "t_avg", so the median is preferred.
constexpr std::array kPerftestColumns{PerftestColumn{"#bytes", "msgsize", kOctets},
                                      PerftestColumn{"iterations", "", kNone},
                                      PerftestColumn{"BW peak", "bw_peak", kPeak},
                                      PerftestColumn{"BW average", "bw_average", kAverage},
                                      PerftestColumn{"MsgRate", "msgrate", kMpps},
                                      PerftestColumn{"CPU_Util", "", kCpuUtil},
                                      PerftestColumn{"t_min", "", kNone},
                                      PerftestColumn{"t_max", "", kNone},
                                      PerftestColumn{"t_typical", "t_typical", kLatency},
                                      PerftestColumn{"t_avg", "t_avg", kLatency},
                                      PerftestColumn{"t_stdev", "", kNone},
                                      PerftestColumn{"99% percentile", "", kNone},
                                      PerftestColumn{"99.9% percentile", "", kNone},
                                      PerftestColumn{"tps average", "", kNone}};
using Numbers = std::array<double, kUnits>;

/// What the lines so far said about the rows that follow.
struct Context {
  CardSample sample{.way = "message"};
  bool gigabits = false;  // throughput is in Gb/s, not in MB/s of 2^20 octets
  std::vector<Unit> columns{kOctets, kNone, kPeak, kAverage, kMpps};
  Numbers record{};  // of perftest's JSON
};

void set_way(Context& c, std::string_view text) {
  const auto lower = lower_case(text);
  for (const std::string_view way : {"write", "read", "send", "atomic"}) {
    if (lower.find(way) != lower.npos) c.sample.way = way;
  }
}

void perftest_header(Context& c, std::string_view line) {
  std::vector<std::pair<std::size_t, Unit>> found;
  for (const auto& column : kPerftestColumns) {
    const auto at = line.find(column.name);
    if (at != line.npos) found.emplace_back(at, column.unit);
  }
  std::ranges::sort(found, {}, &std::pair<std::size_t, Unit>::first);
  c.columns.clear();
  std::ranges::copy(found | std::views::values, std::back_inserter(c.columns));
  c.gigabits = line.find("Gb/sec") != line.npos;
}

/// Reads "key: value" of perftest's preamble or JSON.
void perftest_setting(Context& c, std::string_view line) {
  for (const auto part : split_at(line, "\t", false)) {
    const auto colon = part.find(':');
    if (colon == part.npos) continue;
    const auto key = lower_case(trimmed(part.substr(0, colon)));
    const auto value = trimmed(part.substr(colon + 1));
    const auto number = number_in(value.substr(0, value.find_first_of("[ \t")));
    if (key == "number_of_qps" && number) c.sample.connections = std::max(1.0, *number);
    if (key == "tx_depth" && number) c.sample.depth = std::max(1.0, *number);
    if (key == "test") set_way(c, value);
  }
}

/// Returns the sample of a row. Returns nothing if rate, size and throughput disagree. Throughput
/// is in Gb/s, or in MB/s of 2^20 octets.
std::optional<CardSample> perftest_sample(const Context& c, const Numbers& n) {
  auto s = c.sample;
  s.size = n[kOctets];
  s.rate = n[kMpps] * kMillion;
  if (s.size < 1) return std::nullopt;
  if (n[kLatency] > 0) {
    // Send and Write are timed for half a round trip.
    const bool whole = s.way == "read" || s.way == "atomic";
    s.depth = 1;
    s.rate = kMillion / n[kLatency] / (whole ? 1 : 2);
    return s;
  }
  constexpr double kMebi = 1 << 20;
  const auto average = n[kAverage];
  const auto in_gbps = s.size * kBitsPerGbOctet;
  const auto in_mb = s.size / kMebi;
  const bool both = average > 0 && s.rate > 0;
  if (both && !agree(s.rate * in_gbps, average, 0.006) && !agree(s.rate * in_mb, average, 0.006)) {
    return std::nullopt;
  }
  if (s.rate == 0) s.rate = average / (c.gigabits ? in_gbps : in_mb);
  if (s.rate <= 0 || (n[kPeak] > 0 && average > n[kPeak] * (1 + kAgree))) return std::nullopt;
  s.cpu = n[kCpuUtil] / 100 / s.rate * kMillion;
  return s;
}

std::expected<void, std::string> perftest_row(const Context& c, std::string_view line,
                                              unsigned number, CardSamples& out) {
  std::vector<double> values;
  for (const auto word : split_at(line, " \t|", false)) {
    const auto value = whole_number(word);
    if (!value) return {};  // Text that happens to start with a number.
    values.push_back(*value);
  }
  const auto expected = c.columns.size();
  std::vector<std::vector<Unit>> readings;
  std::size_t sure = 0;
  if (values.size() == expected) readings.push_back(c.columns);
  // People cut columns out. Try each column but the size as the missing one, the average last,
  // because without it nothing contradicts a wrong reading.
  for (std::size_t missing = 1; values.size() + 1 == expected && missing < expected; ++missing) {
    auto columns = c.columns;
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(missing));
    const bool last = c.columns[missing] == kAverage;
    readings.insert(last ? readings.end() : readings.begin() + static_cast<std::ptrdiff_t>(sure++),
                    std::move(columns));
  }
  for (const auto& columns : readings) {
    Numbers numbers{};
    for (std::size_t i = values.size(); i-- > 0;) numbers[columns[i]] = values[i];
    if (auto s = perftest_sample(c, numbers)) {
      s->line = number;
      out.rows.push_back(*s);
      return {};
    }
  }
  if (values.size() < 3) return {};  // A number that is part of other text.
  return Wrong(
      fmt::format("line {}: cannot read the row \"{}\": expected the {} numbers of perftest's "
                  "header, without contradictions between them",
                  number, trimmed(line), expected));
}

/// Returns the text after `key` up to one of `ends`, or an empty text.
std::string_view after(std::string_view line, std::string_view key, std::string_view ends) {
  const auto at = line.find(key);
  if (at == line.npos) return {};
  const auto rest = line.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(ends));
}

void fio_line(Context& c, std::string_view line, unsigned number, CardSamples& out) {
  constexpr double kKibi = 1024;
  if (line.find("rw=") != line.npos && line.find("iodepth=") != line.npos) {
    const auto size = number_in(after(line, "bs=(R) ", "-,"), kKibi);
    c.sample.size = size.value_or(number_in(after(line, "bs=", "-,"), kKibi).value_or(0));
    c.sample.depth = std::max(1.0, number_in(after(line, "iodepth=", ", ")).value_or(1));
  }
  if (const auto jobs = number_in(after(line, "jobs=", ")"))) c.sample.connections = *jobs;
  const auto rate = number_in(after(line, "IOPS=", ","));
  if (rate && c.sample.size > 0 && *rate > 0) {
    auto s = c.sample;
    s.line = number;
    s.way = trimmed(line.substr(0, line.find(':')));
    s.rate = *rate;
    out.rows.push_back(s);
  }
  if (line.find("cpu") != line.npos && line.find("usr=") != line.npos && !out.rows.empty()) {
    const auto percent = number_in(after(line, "usr=", "%")).value_or(0) +
                         number_in(after(line, "sys=", "%")).value_or(0);
    auto& s = out.rows.back();
    s.cpu = percent / 100 * s.connections / s.rate * kMillion;
  }
}

void fio_job(const Json& job, Json options, CardSamples& out) {
  options.update(job.value("job options", Json::object()));
  const auto option = [&options](const char* name, double otherwise) {
    return number_in(options.value(name, ""), 1024).value_or(otherwise);
  };
  for (const char* const way : {"read", "write"}) {
    const auto part = job.value(way, Json::object());
    CardSample s{.way = way, .connections = std::max(1.0, option("numjobs", 1))};
    s.rate = part.value("iops", 0.0);
    if (s.rate <= 0) continue;
    s.depth = std::max(1.0, option("iodepth", 1));
    s.size = option("bs", part.value("bw_bytes", 0.0) / s.rate);
    s.cpu = (job.value("usr_cpu", 0.0) + job.value("sys_cpu", 0.0)) / 100 * s.connections / s.rate *
            kMillion;
    if (s.size >= 1) out.rows.push_back(s);
  }
}

std::expected<CardSamples, std::string> fio_json(std::string_view text) try {
  const auto parsed = bytes::parse_json<Json>(text);
  if (!parsed) return Wrong(parsed.error());
  if (!parsed->contains("jobs") || !(*parsed)["jobs"].is_array()) {
    return Wrong("\"jobs\" is missing or not an array");
  }
  CardSamples out;
  const auto global = parsed->value("global options", Json::object());
  for (const auto& job : (*parsed)["jobs"]) fio_job(job, global, out);
  return out;
} catch (const Json::exception& error) {
  return Wrong(fmt::format("invalid fio JSON: {}", error.what()));
}

/// Reads one line of perftest's JSON, with or without quotes. A record ends with the rate, or with
/// the first latency.
void perftest_json_line(Context& c, std::string_view line, unsigned number, CardSamples& out) {
  const auto colon = std::min(line.find(':'), line.size());
  const auto* const column = std::ranges::find(
      kPerftestColumns, lower_case(trimmed(line.substr(0, colon))), &PerftestColumn::json);
  const auto value = whole_number(trimmed(line.substr(std::min(colon + 1, line.size()))));
  if (column == kPerftestColumns.end() || column->unit == kNone || !value) return;
  c.record[column->unit] = *value;
  if (column->unit != kMpps && column->unit != kLatency) return;
  if (auto s = perftest_sample(c, c.record)) {
    s->line = number;
    out.rows.push_back(*s);
  }
  c.record = {};
}

std::expected<void, std::string> benchmark_line(Context& c, std::string_view line, unsigned number,
                                                CardSamples& out) {
  const auto clean = trimmed(line);
  if (clean.find("#bytes") != clean.npos) {
    perftest_header(c, clean);
  } else if (clean.find(" BW Test") != clean.npos || clean.find("Latency Test") != clean.npos) {
    set_way(c, clean);
  } else if (!clean.empty() && clean.front() >= '0' && clean.front() <= '9') {
    return perftest_row(c, line, number, out);
  } else {
    perftest_setting(c, line);
    perftest_json_line(c, line, number, out);
    fio_line(c, clean, number, out);
  }
  return {};
}

}  // namespace

std::expected<CardSamples, std::string> read_samples(std::string_view text) {
  if (text.find("\"fio version\"") != text.npos) return fio_json(text.substr(text.find('{')));
  CardSamples out;
  std::optional<Header> header;
  Context context;
  context.sample.depth = 128;  // perftest's default, which a server does not print
  unsigned number = 0;
  for (const auto part : std::views::split(text, '\n')) {
    const std::string_view line(part.begin(), part.end());
    ++number;
    const auto clean = trimmed(line);
    if (clean.empty() || (clean.front() == '#' && clean.find("#bytes") == clean.npos)) continue;
    if (!header && out.rows.empty()) {
      header = header_of(line);
      if (header) continue;
    }
    const auto read =
        header ? table_row(*header, line, number, out) : benchmark_line(context, line, number, out);
    if (!read) return Wrong(read.error());
  }
  if (out.rows.empty()) {
    return Wrong(fmt::format(
        "line {}: the input ends without a measurement; expected the output of perftest or fio, or "
        "a table whose header names payload_bytes and one of requests_per_s, gbps and cpu_us",
        number));
  }
  return out;
}

}  // namespace iwarp::offload_model
