// SPDX-License-Identifier: Apache-2.0
// Generates a man page in roff for each command: iwarp.1, iwarp-get.1, iwarp-cost-predict.1.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace iwarp::apps::cli {

struct ManualPage {
  std::string file;  ///< file name, for example "iwarp-get.1"
  std::string text;
};

/// Returns the man pages of `root` and of all commands below it.
std::vector<ManualPage> manual_pages(const Command& root, const std::string& version);

}  // namespace iwarp::apps::cli
