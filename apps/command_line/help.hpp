// SPDX-License-Identifier: Apache-2.0
// The text of --help: what a command does, its options by group, notes and examples, in 80 columns.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

/// Heading of the options that configure the connection. Many commands share them, so --help only
/// names them and `iwarp help connection` explains them.
inline constexpr const char* kConnectionGroup = "Connection";

/// Returns the help of the last command of `path`, which begins at the root.
std::string help_text(const std::vector<const Command*>& path);

/// Returns the full explanation of the options of one group, as a page of its own.
std::string group_text(const Command& command, const std::string& group);

/// Returns the arguments of a usage line: "[OPTION...] URL [OUT]", "COMMAND".
std::string synopsis(const Command& command);

/// Returns how the option is written: "-q, --quiet", "--size N", "--cost[=HOST]", "URL".
std::string spelling(const Option& option);

/// Wraps `text` to lines of at most `width` columns, each indented by `indent` blanks. '
/// ' begins a new line.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// Returns the help of an option with its default: "Bytes of a message [64K]".
std::string explanation(const Option& option);

}  // namespace iwarp::apps::cli
