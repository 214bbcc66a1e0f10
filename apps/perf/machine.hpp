// SPDX-License-Identifier: Apache-2.0
// The properties of this machine and this process that a user needs to repeat a measurement.
#pragma once

#include <string>
#include <vector>

namespace iwarp::apps::perf {

struct Machine {
  std::string system;  ///< name of the operating system, from uname(2)
  std::string node;
  std::string kernel;
  std::string build;
  std::string architecture;
  std::string cpu;  ///< model of the processor; empty if the kernel does not report it
  unsigned processors = 0;
};
Machine this_machine();

/// Returns the arguments with which this process was started.
std::vector<std::string> command_line();

/// Returns the current time in UTC, for example "2026-11-22T10:04:04Z".
std::string date_now();

}  // namespace iwarp::apps::perf
