// SPDX-License-Identifier: Apache-2.0
// Runs the command of `iwarp run --careful=fail` in a child process. Counts what careful mode
// reports about the child and about the processes that it starts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "command_line/child.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps {

/// The exit status of `iwarp run --careful=fail` if careful mode has reported anything.
inline constexpr int kMistakes = 99;

/// A file to which the libraries append lines. The file is in memory, so it disappears when the
/// processes have ended.
class Reports {
 public:
  /// Creates the file. Throws Error if there is not enough memory or no free descriptor. `name` is
  /// for lists of open files.
  explicit Reports(const char* name);
  /// Returns a path by which other processes of this user can open the file while this process
  /// runs.
  std::string path() const;
  /// Returns the number of lines so far.
  std::size_t count() const;
  /// Returns the last `most` lines, or all if there are fewer.
  std::vector<std::string> last_lines(std::size_t most) const;

 private:
  std::string text() const;

  net::UniqueFd file_;
};

/// Forks a child that calls `become`, and waits until the child has ended. `become` executes the
/// command, or returns an exit status. Signals that other processes send to this process are
/// forwarded to the child. If this process ends, the child gets SIGKILL. Throws Error if fork()
/// fails.
Ending run_in_child(const std::function<int()>& become);

/// If a signal ended the child, ends this process by the same signal. Otherwise returns the exit
/// status of the child.
int end_as(const Ending& ending);

}  // namespace iwarp::apps
