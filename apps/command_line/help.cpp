// SPDX-License-Identifier: Apache-2.0
// Lays out the text of --help.
#include "command_line/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_line/parse.hpp"

namespace iwarp::apps::cli {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 28;         // column in which the explanations of options begin
constexpr std::size_t kCommandColumn = 13;  // column in which the explanations of commands begin
constexpr const char* kOptions = "Options";
constexpr const char* kArguments = "Arguments";

std::string heading_of(const Option& option) {
  if (option.is_argument) return kArguments;
  return option.group.empty() ? kOptions : option.group;
}

std::string row(const std::string& left, std::string_view right, std::size_t column = kColumn) {
  std::string out = "  " + left;
  if (out.size() + 1 > column) {
    out += "\n" + std::string(column, ' ');
  } else {
    out.resize(column, ' ');
  }
  return out + wrapped(right, kWidth, column).substr(column);
}

std::vector<std::string> headings(const Command& command) {
  std::vector<std::string> out;
  for (const auto& option : command.options) {
    const auto heading = heading_of(option);
    if (std::ranges::find(out, heading) == out.end()) out.push_back(heading);
  }
  return out;
}

std::string rows_of(const Command& command, const std::string& heading) {
  std::string out;
  for (const auto& option : command.options) {
    if (heading_of(option) == heading) out += row(spelling(option), explanation(option));
  }
  return out;
}

/// Returns the names of the connection options as text, without explanations.
std::string connection_summary(const Command& command) {
  std::string names;
  for (const auto& option : command.options) {
    if (option.group != kConnectionGroup) continue;
    const auto text = spelling(option);
    names += (names.empty() ? "" : ", ") + text.substr(text.find("--"));
  }
  return wrapped(names, kWidth, 2);
}

std::string examples_text(const std::vector<std::string>& examples) {
  std::string out = "\nExamples:\n";
  for (const auto& example : examples) out += "  " + example + "\n";
  return out;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string blanks(indent, ' ');
  std::string out;
  std::string line;
  const auto flush = [&] {
    out += blanks + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(" \n"), text.size());
    const auto word = text.substr(0, end);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) flush();
    if (!line.empty()) line += ' ';
    line += word;
    if (end < text.size() && text[end] == '\n') flush();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!line.empty() || out.empty()) flush();
  return out;
}

std::string spelling(const Option& option) {
  if (option.is_argument) return option.names;
  auto out = option.names;
  if (const auto comma = out.find(','); comma != out.npos) out.insert(comma + 1, " ");
  if (option.is_flag()) return out;
  if (option.is_value_optional) return out + "[=" + option.value_name + "]";
  return out + " " + option.value_name + (option.is_greedy ? "..." : "");
}

std::string explanation(const Option& option) {
  auto out = option.help;
  if (option.is_repeatable && !option.is_flag()) out += "; may be repeated";
  if (!option.default_text.empty()) out += " [" + option.default_text + "]";
  return out;
}

std::string synopsis(const Command& command) {
  if (!command.commands.empty()) return "COMMAND";
  std::string out = "[OPTION...]";
  for (const auto& option : command.options) {
    if (!option.is_argument) continue;
    out += option.is_required ? " " + option.names : " [" + option.names + "]";
    if (option.is_greedy) out += "...";
  }
  return out;
}

std::string help_text(const std::vector<const Command*>& path) {
  const auto& command = *path.back();
  const auto name = path_text(path);
  const auto usage = command.usage.empty() ? name + " " + synopsis(command) : command.usage;
  auto out = fmt::format("Usage: {}\n\n{}\n", usage, command.summary);
  if (!command.commands.empty()) {
    out += "\nCommands:\n";
    for (const auto& sub : command.commands) out += row(sub.name, sub.summary, kCommandColumn);
  }
  for (const auto& heading : headings(command)) {
    if (heading == kConnectionGroup) continue;
    out += fmt::format("\n{}:\n{}", heading, rows_of(command, heading));
  }
  if (const auto names = connection_summary(command); names != "  \n") {
    out += fmt::format("\n{} options (see iwarp help connection):\n{}", kConnectionGroup, names);
  }
  if (!command.notes.empty()) out += "\n" + command.notes + "\n";
  if (!command.shown.empty()) out += examples_text(command.shown);
  return out;
}

std::string group_text(const Command& command, const std::string& group) {
  return fmt::format("{} options\n\n{}", group, rows_of(command, group));
}

}  // namespace iwarp::apps::cli
