// SPDX-License-Identifier: Apache-2.0
// The options of a program that runs cases: which cases, and which reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::report {

struct Options {
  std::vector<std::string> only;
  std::optional<std::string> json;  ///< the file for the JSON report; empty means standard output
  std::string junit;
  std::optional<std::string> generated;
  double timeout = 5;
  bool list = false;

  bool only_json() const { return json && json->empty(); }
};

/// Adds the options. The shell completes --only with `ids`.
void add_options(cli::Command& command, Options& options, std::vector<std::string> ids);

}  // namespace iwarp::apps::report
