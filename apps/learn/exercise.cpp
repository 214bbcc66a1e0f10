// SPDX-License-Identifier: Apache-2.0
// Parses the files of exercises and their rules, and finds the first rule that fits the evidence of
// a failure.
#include "learn/exercise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "command_line/error.hpp"

namespace iwarp::apps::learn {

/// Returns the file FOLDER/NAME of the exercises, or "" if there is none. "folders" is a list of
/// all folders. Made by CMake.
std::string_view exercise_file(std::string_view name);

namespace {

std::string_view file(std::string_view folder, std::string_view name) {
  return exercise_file(fmt::format("{}/{}", folder, name));
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return out;
}

/// Joins each line that begins with blanks to the line before it.
std::vector<std::string> logical_lines(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, "\n")) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == line.npos || line[begin] == '#') continue;
    if (begin > 0 && !out.empty()) {
      out.back().append(" ").append(line.substr(begin));
    } else {
      out.emplace_back(line);
    }
  }
  return out;
}

void parse_rule_line(std::string_view key, const std::string& value, Rule& rule) {
  if (key == "if" || key == "then") {
    rule.steps.push_back({.expression = value,
                          .is_next = key == "then",
                          .without = std::exchange(rule.without, {})});
  } else if (key == "without") {
    rule.without.push_back(value);
  } else if (key == "unless") {
    rule.excluded.push_back(value);
  } else if (key == "say") {
    rule.says = value;
  } else {
    throw Error(fmt::format("unknown key \"{}\"", key));
  }
}

void parse_line(std::string_view key, const std::string& value, Exercise& exercise) {
  if (key == "run") {
    std::istringstream words(value);
    exercise.options.assign(std::istream_iterator<std::string>(words), {});
  } else if (key == "freedoms") {
    exercise.freedoms = "," + value;
  } else if (key == "seconds") {
    exercise.limit = std::chrono::seconds(std::stoi(value));
  } else if (key == "pass") {
    exercise.passes.emplace_back(value);
  } else if (key == "cause") {
    exercise.rules.push_back(
        {.cause = value, .steps = {}, .without = {}, .excluded = {}, .says = {}});
  } else if (exercise.rules.empty()) {
    throw Error(fmt::format("unknown key \"{}\"", key));
  } else {
    parse_rule_line(key, value, exercise.rules.back());
  }
}

std::vector<Exercise> parse_all() {
  std::vector<Exercise> out;
  for (const std::string_view folder : split(exercise_file("folders"), " ")) {
    Exercise exercise;
    std::from_chars(folder.data(), folder.data() + folder.size(), exercise.number);
    exercise.folder = folder;
    exercise.page = file(folder, "page.md");
    exercise.skeleton = file(folder, "exercise.c");
    exercise.peer = file(folder, "peer.c");
    exercise.hints = split(file(folder, "hints.md"), "\n---\n");
    for (const auto source :
         {std::string_view("common/before"), folder, std::string_view("common/after")}) {
      const bool is_own = source == folder;
      parse_rules(is_own ? file(folder, "rules") : exercise_file(source), exercise);
    }
    out.push_back(std::move(exercise));
  }
  return out;
}

std::string substituted(const std::string& text, const std::vector<std::string>& groups) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_group = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}';
    const auto number = is_group ? static_cast<std::size_t>(text[i + 1] - '0') : 0;
    if (number == 0 || number > groups.size()) {
      out += text[i];
      continue;
    }
    out += groups[number - 1];
    i += 2;
  }
  return out;
}

/// Applies rules to the lines of the evidence.
class Matcher {
 public:
  explicit Matcher(std::span<const std::string> lines) : lines_(lines) {}

  /// Returns the sentence of the rule, or nullopt if the rule does not apply.
  std::optional<std::string> apply(const Rule& rule) const {
    std::vector<std::string> groups;
    if (!matches(rule, 0, 0, groups)) return std::nullopt;
    const bool is_excluded = std::ranges::any_of(rule.excluded, [&](const std::string& one) {
      return find(substituted(one, groups)).has_value();
    });
    if (is_excluded) return std::nullopt;
    return substituted(rule.says, groups);
  }

  /// Returns the first line, from `begin` on and before `end`, that matches the expression.
  std::optional<std::size_t> find(const std::string& expression, std::size_t begin = 0,
                                  std::size_t end = SIZE_MAX, std::smatch* match = nullptr) const {
    const auto [found, is_new] = compiled_.try_emplace(expression);
    if (is_new) found->second = std::regex(expression);
    const bool is_of_source = expression.starts_with("^source");
    std::smatch ignored;
    for (std::size_t i = begin; i < std::min(end, lines_.size()); ++i) {
      if (lines_[i].starts_with("source ") != is_of_source) continue;
      if (std::regex_search(lines_[i], match ? *match : ignored, found->second)) return i;
    }
    return std::nullopt;
  }

 private:
  /// Returns whether lines match the steps from `index` on, if the line before `after` matches the
  /// step before. Appends the groups of the steps to `groups`.
  bool matches(const Rule& rule, std::size_t index, std::size_t after,
               std::vector<std::string>& groups) const {
    const auto is_clear = [&](const std::vector<std::string>& without, std::size_t end) {
      return std::ranges::none_of(without, [&](const std::string& one) {
        return find(substituted(one, groups), after, end).has_value();
      });
    };
    if (index == rule.steps.size()) return is_clear(rule.without, lines_.size());
    const Step& step = rule.steps[index];
    const std::string expression = substituted(step.expression, groups);
    std::smatch match;
    for (auto at = find(expression, step.is_next ? after : 0, SIZE_MAX, &match); at;
         at = find(expression, *at + 1, SIZE_MAX, &match)) {
      if (!is_clear(step.without, *at)) return false;  // later lines have more lines before them
      const std::size_t before = groups.size();
      for (std::size_t i = 1; i < match.size(); ++i) groups.push_back(match[i]);
      if (matches(rule, index + 1, *at + 1, groups)) return true;
      groups.resize(before);
    }
    return false;
  }

  std::span<const std::string> lines_;
  mutable std::map<std::string, std::regex> compiled_;
};

}  // namespace

void parse_rules(std::string_view text, Exercise& exercise) {
  for (const std::string& line : logical_lines(text)) {
    const std::size_t colon = line.find(": ");
    if (colon == line.npos)
      throw Error(fmt::format("{}: no colon in \"{}\"", exercise.folder, line));
    try {
      parse_line(std::string_view(line).substr(0, colon), line.substr(colon + 2), exercise);
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: \"{}\": {}", exercise.folder, line, error.what()));
    }
  }
}

std::string_view Exercise::title() const {
  const std::size_t begin = page.find(": ");
  if (begin == page.npos) return folder;
  return page.substr(begin + 2, page.find('\n') - begin - 2);
}

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = parse_all();
  return all;
}

std::vector<Helper> helpers() {
  std::vector<Helper> out;
  for (const std::string_view name : split(exercise_file("helpers"), " ")) {
    out.push_back({name, file("common", name)});
  }
  return out;
}

std::optional<Finding> first_finding(const Exercise& exercise,
                                     std::span<const std::string> evidence) {
  const Matcher matcher(evidence);
  for (const Rule& rule : exercise.rules) {
    if (auto says = matcher.apply(rule)) return Finding{rule.cause, *says};
  }
  for (const std::string& expected : exercise.passes) {
    if (matcher.find(expected)) continue;
    return Finding{
        "unknown",
        "the program does not do what the exercise asks, and the judge does not know why"};
  }
  return std::nullopt;
}

}  // namespace iwarp::apps::learn
