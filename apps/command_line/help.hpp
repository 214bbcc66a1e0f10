// SPDX-License-Identifier: Apache-2.0
// Generates the text of --help, wrapped to 80 columns: what a command does, its options by group,
// notes and examples.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Heading of the options that configure the connection. Many commands have these options, so
/// --help lists only their names; `iwarp help connection` explains them.
inline constexpr const char* kConnectionGroup = "Connection";

/// Returns the help text of the last command in `path`. The first command in `path` must be the
/// root.
std::string help_text(const std::vector<const Command*>& path);

/// Returns a page that explains all options of one group.
std::string group_text(const Command& command, const std::string& group);

/// Returns the options and arguments as the usage line shows them: "[OPTION...] URL [OUT]",
/// "COMMAND".
std::string synopsis(const Command& command);

/// Returns the option as --help shows it: "-q, --quiet", "--size N", "--cost[=HOST]", "URL".
std::string spelling(const Option& option);

/// Wraps `text` to lines of at most `width` columns, each indented by `indent` blanks. A newline in
/// `text` begins a new line.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// Returns the help text of an option, followed by its default: "Bytes per message [64K]".
std::string explanation(const Option& option);

}  // namespace iwarp::apps::cli
