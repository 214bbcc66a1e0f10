// SPDX-License-Identifier: Apache-2.0
// Converts the options of `iwarp run` to the IWARP_* variables of the libraries.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps {

struct Variable {
  std::string name;
  std::string value;
};
using Environment = std::vector<Variable>;

/// Returns the variables of the options that were given.
Environment variables_of(const cli::Given& given);
/// Returns a line for each IWARP_* variable of this process whose name is close to that of an
/// option's variable, but not the same. The libraries ignore such a variable.
std::vector<std::string> misspelled_variables();

}  // namespace iwarp::apps
