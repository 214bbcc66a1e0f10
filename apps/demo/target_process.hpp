// SPDX-License-Identifier: Apache-2.0
// Runs the target in a child process, and reads its reports from a pipe.
#pragma once

#include <optional>
#include <string>

#include "command_line/child.hpp"
#include "demo/demo.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps {

class TargetProcess {
 public:
  /// Forks the process. Call before starting any thread.
  explicit TargetProcess(const DemoOptions& options);
  /// Reads the next report, which must begin with `word`, and returns the words that follow. Throws
  /// Error if the target reports a failure, if the report begins with another word, or if no report
  /// arrives in time.
  std::string expect(const std::string& word);
  /// Waits until the process has ended. Throws Error if its exit status is not 0.
  void finish();

 private:
  std::string next_line();

  net::UniqueFd pipe_;
  std::optional<Child> child_;
  std::string received_;
};

}  // namespace iwarp::apps
