// SPDX-License-Identifier: Apache-2.0
// The target as a separate process: forked, reports through a pipe, killed when the parent ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "demo/demo.hpp"

namespace iwarp::apps {

class TargetProcess {
 public:
  /// Forks. Call before starting any thread.
  explicit TargetProcess(const DemoOptions& options);
  /// Kills the process if it is still running.
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  /// Reads the next report, which must begin with `word`, and returns the words behind it. Throws
  /// Error if the target reports a failure, another word, or nothing in time.
  std::string expect(const std::string& word);
  /// Waits for the process to end. Throws Error unless its status is 0.
  void finish();

 private:
  std::string next_line();

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string received_;
};

}  // namespace iwarp::apps
