// SPDX-License-Identifier: Apache-2.0
// Declares options, converts their words to values, and checks the values.
#include "command_line/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

namespace iwarp::apps::cli {

namespace {

constexpr std::size_t kLongestQuote = 60;

std::string number_text(double value) { return fmt::format("{:.16g}", value); }

template <typename T>
std::string range_text(const Range& range) {
  return fmt::format("{} from {} to {}", std::is_integral_v<T> ? "an integer" : "a number",
                     number_text(range.low), number_text(range.high));
}

std::string bad(const std::string& expected, const std::string& word) {
  return fmt::format("\"{}\" is not {}", excerpt(word), expected);
}

/// Parses `word` as a number. Returns nullopt unless the whole word is a number in `range`.
template <typename T>
std::optional<T> parse_number(std::string_view word, const Range& range) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  const auto number = static_cast<double>(value);
  // The condition is negated because comparisons with NaN are false: NaN must be rejected.
  if (!(number >= range.low && number <= range.high)) return std::nullopt;
  return value;
}

template <typename T>
auto take_number(T& value, const Range& range) {
  return [&value, range](const Option::Words& words) -> std::string {
    const auto number = parse_number<T>(words.back(), range);
    if (!number) return bad(range_text<T>(range), words.back());
    value = *number;
    return "";
  };
}

template <typename T>
std::string default_of(T value) {
  return value == T{} ? "" : number_text(static_cast<double>(value));
}

std::string size_text(std::uint64_t octets) {
  constexpr std::string_view kUnits = "KMG";
  std::string unit;
  for (const char next : kUnits) {
    if (octets == 0 || octets % 1024 != 0) break;
    octets /= 1024;
    unit = next;
  }
  return octets == 0 ? "" : std::to_string(octets) + unit;
}

std::string size_bound(double octets) {
  const auto text = size_text(static_cast<std::uint64_t>(octets));
  return text.empty() ? "0" : text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

}  // namespace

std::string Option::long_name() const { return names.substr(names.rfind(',') + 1); }

Option& Option::required() {
  is_required = true;
  return *this;
}

Option& Option::excludes(std::string other) {
  rivals.push_back(std::move(other));
  return *this;
}

Option& Option::completes(Completion what) {
  completion = what;
  return *this;
}

Option& Option::suggests(Words words) {
  suggestions = std::move(words);
  return *this;
}

Option& Option::repeatable() {
  is_repeatable = true;
  return *this;
}

Option& Option::greedy() {
  is_greedy = true;
  return *this;
}

Option& Option::check(std::function<std::string(const std::string&)> fault) {
  take = [fault = std::move(fault), store = std::move(take)](const Words& words) -> std::string {
    for (const auto& word : words) {
      if (auto text = fault(word); !text.empty()) return text;
    }
    return store(words);
  };
  return *this;
}

Option& Option::then(std::function<void()> act) {
  take = [act = std::move(act), store = std::move(take)](const Words& words) {
    auto fault = store(words);
    if (fault.empty()) act();
    return fault;
  };
  return *this;
}

bool Given::has(std::string_view name) const { return words.contains(name); }

Option& Command::add(Option option) {
  option.group = group_;
  return options.emplace_back(std::move(option));
}

Option& Command::flag(std::string names, bool& value, std::string help) {
  return add({.names = std::move(names),
              .help = std::move(help),
              .take = [&value](const Option::Words&) -> std::string {
                value = true;
                return "";
              }});
}

Option& Command::count(std::string names, unsigned& value, std::string help) {
  return add({.names = std::move(names),
              .help = std::move(help),
              .is_repeatable = true,
              .take = [&value](const Option::Words& words) -> std::string {
                value = static_cast<unsigned>(words.size());
                return "";
              }});
}

Option& Command::text(std::string names, std::string value_name, std::string& value,
                      std::string help) {
  return add({.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .default_text = value,
              .take = [&value](const Option::Words& words) -> std::string {
                value = words.back();
                return "";
              }});
}

Option& Command::file(std::string names, std::string value_name, std::string& value,
                      std::string help) {
  return text(std::move(names), std::move(value_name), value, std::move(help))
      .completes(Completion::kFile);
}

Option& Command::optional_text(std::string names, std::string value_name,
                               std::optional<std::string>& value, std::string help) {
  return add({.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .is_value_optional = true,
              .take = [&value](const Option::Words& words) -> std::string {
                value = words.empty() ? "" : words.back();
                return "";
              }});
}

Option& Command::texts(std::string names, std::string value_name, std::vector<std::string>& value,
                       std::string help) {
  return add({.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .default_text = joined(value, " "),
              .take = [&value](const Option::Words& words) -> std::string {
                value = words;
                return "";
              }});
}

Option& Command::choice(std::string names, std::string& value, std::vector<std::string> of,
                        std::string help) {
  auto& option = text(std::move(names), joined(of, "|"), value, std::move(help));
  option.choices = of;
  return option.check([of = std::move(of)](const std::string& word) -> std::string {
    const bool known = std::ranges::find(of, word) != of.end();
    return known ? "" : bad(fmt::format("one of {}", fmt::join(of, ", ")), word);
  });
}

Option& Command::number(std::string names, std::string value_name, unsigned& value, Range range,
                        std::string help) {
  return add({.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .default_text = default_of(value),
              .take = take_number(value, range)});
}

Option& Command::number(std::string names, std::string value_name, std::uint64_t& value,
                        Range range, std::string help) {
  return add({.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .default_text = default_of(value),
              .take = take_number(value, range)});
}

Option& Command::number(std::string names, std::string value_name, double& value, Range range,
                        std::string help) {
  return add({.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .default_text = default_of(value),
              .take = take_number(value, range)});
}

Option& Command::size(std::string names, std::uint64_t& value, Range range, std::string help) {
  return add({.names = std::move(names),
              .value_name = "N",
              .help = std::move(help),
              .default_text = size_text(value),
              .take = [&value, range](const Option::Words& words) -> std::string {
                const auto octets = parse_size(words.back());
                if (!octets) return bad("a size such as 4096, 64K or 1M", words.back());
                const auto number = static_cast<double>(*octets);
                if (number < range.low || number > range.high) {
                  return bad(fmt::format("in the range from {} to {}", size_bound(range.low),
                                         size_bound(range.high)),
                             words.back());
                }
                value = *octets;
                return "";
              }});
}

Option& Command::argument(std::string title, std::string& value, std::string help) {
  auto& option = text(std::move(title), "", value, std::move(help));
  option.is_argument = true;
  return option;
}

Option& Command::arguments(std::string title, std::vector<std::string>& value, std::string help) {
  auto& option = texts(std::move(title), "", value, std::move(help));
  option.is_argument = true;
  option.is_greedy = true;
  return option;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  const auto unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
  const unsigned shift = unit == kUnits.npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (number > kLimit >> shift) return std::nullopt;
  return number << shift;
}

std::string excerpt(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, kLongestQuote)) {
    const auto octet = static_cast<unsigned char>(c);
    out += octet >= 0x20 && octet < 0x7F ? c : '?';
  }
  if (word.size() > kLongestQuote) out += "...";
  return out;
}

}  // namespace iwarp::apps::cli
