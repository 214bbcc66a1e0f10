// SPDX-License-Identifier: Apache-2.0
// The target as a process of its own: started by fork, reports by a pipe, ends when we end.
#pragma once

#include <sys/types.h>

#include <string>

#include "demo/demo.hpp"

namespace iwarp::apps {

class TargetProcess {
 public:
  /// Forks: call before any thread exists.
  explicit TargetProcess(const DemoOptions& options);
  /// Kills it if it still runs.
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  /// Its next report, which must begin with `word`; returns what follows. Error: it says it failed,
  /// says something else, or says nothing in time.
  std::string expect(const std::string& word);
  /// Error: it did not end with status 0.
  void finish();

 private:
  std::string next_line();

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string received_;
};

}  // namespace iwarp::apps
