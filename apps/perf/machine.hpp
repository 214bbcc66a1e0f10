// SPDX-License-Identifier: Apache-2.0
// Of this machine and this process, what one has to know to measure the same again.
#pragma once

#include <string>
#include <vector>

namespace iwarp::apps::perf {

struct Machine {
  std::string system;  ///< of the kernel, as uname(2) has it
  std::string node;
  std::string kernel;
  std::string build;
  std::string architecture;
  std::string cpu;  ///< the model; empty: the kernel does not name it
  unsigned processors = 0;
};
Machine this_machine();

/// The arguments that this process was started with.
std::vector<std::string> command_line();

/// "2026-11-22T10:04:04Z"
std::string date_now();

}  // namespace iwarp::apps::perf
