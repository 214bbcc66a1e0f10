// SPDX-License-Identifier: Apache-2.0
// Exceptions by which a command reports its failure. run_program() prints the text as one line and
// returns the exit status. The texts say what failed and quote the invalid value. They have no full
// stop at the end.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace iwarp::apps {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

/// Thrown if the command failed; the exit status is 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown if the command line is invalid; the exit status is 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Thrown if a signal asked the program to end.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// Changes the first letter to lower case, unless the text begins with an acronym.
std::string lower_first(std::string text);
/// Returns the text of `error`, with the first letter in lower case so that it can follow a colon.
std::string to_text(const std::error_code& error);
/// Returns the text of errno.
std::string errno_text();

}  // namespace iwarp::apps
