// SPDX-License-Identifier: Apache-2.0
// Writes man pages with the macros of man(7).
#include "command_line/manual.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_line/help.hpp"
#include "command_line/parse.hpp"

namespace iwarp::apps::cli {

namespace {

using Path = std::vector<const Command*>;

/// Escapes `text` for roff: no part of it is read as a request or an escape sequence, and a reader
/// can copy hyphens from the man page.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string page_name(const Path& path) {
  auto out = path_text(path);
  std::ranges::replace(out, ' ', '-');
  return out;
}

std::string section(const char* title, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", title, body);
}

std::string options_text(const Command& command) {
  std::string out;
  std::string group;
  for (const auto& option : command.options) {
    if (option.group != group) {
      group = option.group;
      if (!group.empty()) out += ".SS " + escaped(group) + "\n";
    }
    out += fmt::format(".TP\n.B {}\n{}\n", escaped(spelling(option)), escaped(explanation(option)));
  }
  out += ".TP\n.B \\-h, \\-\\-help\nShow the help of this command and exit.\n";
  return out;
}

std::string commands_text(const Path& path) {
  std::string out;
  for (const auto& sub : path.back()->commands) {
    out += fmt::format(".TP\n.BR {}\\-{} (1)\n{}\n", escaped(page_name(path)), escaped(sub.name),
                       escaped(sub.summary));
  }
  return out;
}

std::string verbatim(const std::string& text) {
  return text.empty() ? "" : fmt::format(".nf\n{}\n.fi\n", escaped(text));
}

std::string examples_text(const Command& command) {
  return command.shown.empty() ? "" : verbatim(fmt::format("{}", fmt::join(command.shown, "\n")));
}

std::string statuses_text(const Command& command) {
  std::string out;
  for (const auto& [status, when] : command.statuses) {
    out += fmt::format(".TP\n.B {}\n{}\n", escaped(status), escaped(when));
  }
  return out;
}

std::string see_also(const Path& path) {
  if (path.size() > 1)
    return fmt::format(".BR {} (1)\n", escaped(page_name({path.begin(), path.end() - 1})));
  return ".BR rping (1),\n.BR iperf3 (1)\n";
}

std::string page_text(const Path& path, const std::string& version) {
  const auto& command = *path.back();
  const auto name = page_name(path);
  const auto usage =
      command.usage.empty() ? path_text(path) + " " + synopsis(command) : command.usage;
  auto out = fmt::format(".TH \"{}\" 1 \"\" \"iwarp {}\" \"iWARP in user space\"\n", name, version);
  out += section("NAME", fmt::format("{} \\- {}\n", escaped(name), escaped(command.summary)));
  out += section("SYNOPSIS", verbatim(usage));
  out += section("COMMANDS", commands_text(path));
  out += section("OPTIONS", options_text(command));
  out += section("NOTES", verbatim(command.notes));
  out += section("EXAMPLES", examples_text(command));
  out += section("EXIT STATUS", statuses_text(command));
  return out + section("SEE ALSO", see_also(path));
}

void add_pages(const Path& path, const std::string& version, std::vector<ManualPage>& pages) {
  pages.push_back({page_name(path) + ".1", page_text(path, version)});
  for (const auto& sub : path.back()->commands) {
    auto below = path;
    below.push_back(&sub);
    add_pages(below, version, pages);
  }
}

}  // namespace

std::vector<ManualPage> manual_pages(const Command& root, const std::string& version) {
  std::vector<ManualPage> out;
  add_pages({&root}, version, out);
  return out;
}

}  // namespace iwarp::apps::cli
