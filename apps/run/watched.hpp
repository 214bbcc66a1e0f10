// SPDX-License-Identifier: Apache-2.0
// Runs the CMD of `iwarp run --careful=fail` in a child, and counts what careful mode reports of it
// and of the processes that it starts.
#pragma once

#include <functional>
#include <string>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps {

/// The exit status of `iwarp run --careful=fail` when careful mode has reported something.
inline constexpr int kMistakes = 99;

/// Where the libraries write the name of a check for each report, one a line. In memory: nothing
/// remains of it, however the processes end.
class Reports {
 public:
  /// Throws Error when there is no memory or descriptor for it.
  Reports();
  /// For other processes of this user, while this one runs.
  std::string path() const;
  /// Returns the number of reports so far.
  std::size_t count() const;

 private:
  net::UniqueFd file_;
};

/// How a child ended.
struct Ending {
  int status = 0;  ///< its exit status, or 128 and the signal's number
  int signal = 0;  ///< 0: it exited
};

/// Calls `become` in a child, which becomes CMD or returns an exit status, and waits for its end.
/// The child gets the signals that other processes send to this one, and SIGKILL when this one is
/// gone. Throws Error when there can be no child.
Ending run_in_child(const std::function<int()>& become);

/// Ends this process by the same signal, if one ended the child. Returns the exit status otherwise.
int end_as(const Ending& ending);

}  // namespace iwarp::apps
