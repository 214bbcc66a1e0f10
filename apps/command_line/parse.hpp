// SPDX-License-Identifier: Apache-2.0
// Parses a command line: selects the command and sets its options.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

struct Invocation {
  std::vector<const Command*> path;  ///< the selected commands, root first
  Given given;
  bool wants_help = false;
  bool wants_version = false;
};

/// One line of text that explains why a command line cannot be parsed.
struct Misuse {
  std::string command;  ///< the command that was selected, for example "iwarp cost predict"
  std::string text;
};

/// Parses the command line, and stores the values of the options of `root` and of its subcommands.
std::expected<Invocation, Misuse> parse(const Command& root, int argc, const char* const* argv);

/// Returns the names of the commands in `path`: "iwarp cost predict".
std::string path_text(const std::vector<const Command*>& path);

}  // namespace iwarp::apps::cli
