// SPDX-License-Identifier: Apache-2.0
// Makes the text of --help: what a command does, its options by group, notes and examples, in 80
// columns.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Heading of the options that configure the connection. Many commands have these options, so
/// --help only lists their names and `iwarp help connection` explains them.
inline constexpr const char* kConnectionGroup = "Connection";

/// Returns the help of the last command of `path`. The first one must be the root.
std::string help_text(const std::vector<const Command*>& path);

/// Returns the explanation of all options of one group, as a page of its own.
std::string group_text(const Command& command, const std::string& group);

/// Returns the arguments as a usage line shows them: "[OPTION...] URL [OUT]", "COMMAND".
std::string synopsis(const Command& command);

/// Returns how the option is written: "-q, --quiet", "--size N", "--cost[=HOST]", "URL".
std::string spelling(const Option& option);

/// Wraps `text` to lines of at most `width` columns, each indented by `indent` blanks. A newline in
/// `text` begins a new line.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// Returns the help of an option, followed by its default: "Bytes of a message [64K]".
std::string explanation(const Option& option);

}  // namespace iwarp::apps::cli
