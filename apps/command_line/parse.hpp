// SPDX-License-Identifier: Apache-2.0
// Parses a command line: selects the command and sets its options.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

struct Invocation {
  std::vector<const Command*> path;  ///< root first
  Given given;
  bool wants_help = false;
  bool wants_version = false;
};

/// A command line that cannot be parsed. `text` gives the reason in one line.
struct Misuse {
  std::string command;  ///< "iwarp cost predict"
  std::string text;
};

/// Parses the command line and stores the values of the options of `root` and of its commands.
std::expected<Invocation, Misuse> parse(const Command& root, int argc, const char* const* argv);

/// Returns the names on the path: "iwarp cost predict".
std::string path_text(const std::vector<const Command*>& path);

}  // namespace iwarp::apps::cli
