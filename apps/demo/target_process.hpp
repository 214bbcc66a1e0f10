// SPDX-License-Identifier: Apache-2.0
// Runs the target in a forked process, and reads its reports from a pipe. The kernel kills the
// process if the parent ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "demo/demo.hpp"

namespace iwarp::apps {

class TargetProcess {
 public:
  /// Forks the process. Call before starting any thread.
  explicit TargetProcess(const DemoOptions& options);
  /// Kills the process if it is still running.
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  /// Reads the next report, which must begin with `word`, and returns the words that follow. Throws
  /// Error if the target reports a failure, if the report begins with another word, or if no report
  /// arrives in time.
  std::string expect(const std::string& word);
  /// Waits until the process has ended. Throws Error if its exit status is not 0.
  void finish();

 private:
  std::string next_line();

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string received_;
};

}  // namespace iwarp::apps
