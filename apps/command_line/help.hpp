// SPDX-License-Identifier: Apache-2.0
// What --help says: what a command is for, its options in groups, notes and examples, in 80
// columns.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Heading of the options that say how the connection shall be. They are the same for many
/// commands, so --help only names them; `iwarp help connection` explains them.
inline constexpr const char* kConnectionGroup = "Connection";

/// The help of the last command of `path`, which begins at the root.
std::string help_text(const std::vector<const Command*>& path);

/// The options of one group in full, as a page of its own.
std::string group_text(const Command& command, const std::string& group);

/// "[OPTION...] URL [OUT]", "COMMAND".
std::string synopsis(const Command& command);

/// "-q, --quiet", "--size N", "--cost[=HOST]", "URL".
std::string spelling(const Option& option);

/// `text` in lines of at most `width`, each behind `indent` blanks; '\n' begins a new line.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// Help and default in one: "Octets of a message [64K]".
std::string explanation(const Option& option);

}  // namespace iwarp::apps::cli
