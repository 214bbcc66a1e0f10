// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to the command that they choose, its options set.
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

/// The command line makes no sense: `text` says why, in one line.
struct Misuse {
  std::string command;  ///< "iwarp cost predict"
  std::string text;
};

/// Sets what the options of `root` and its commands stand for.
std::expected<Invocation, Misuse> parse(const Command& root, int argc, const char* const* argv);

/// "iwarp cost predict".
std::string path_text(const std::vector<const Command*>& path);

}  // namespace iwarp::apps::cli
