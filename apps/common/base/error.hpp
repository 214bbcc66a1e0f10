// SPDX-License-Identifier: Apache-2.0
// Exceptions by which a command reports its failure. main() prints the text as one line and sets
// the exit status. The texts say what failed and quote the invalid value. They have no full stop at
// the end.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/log_record.hpp"

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

/// Thrown if the stream to the peer has ended, regardless of which end closed or aborted it.
class PeerGone : public Error {
 public:
  using Error::Error;
};

/// Returns the text of `error`, with the first letter in lower case so that it can follow a colon.
std::string to_text(const std::error_code& error);
/// Returns the text of errno.
std::string errno_text();

/// Returns why a connection failed, for example that it was refused, timed out, or was rejected
/// with a text from the peer.
std::string to_text(const net::CmEvent& event);

/// Throws Error("`what`: reason") if `error` is set.
void check(const std::error_code& error, std::string_view what);

/// Returns the value, or throws Error("`what`: reason").
template <typename T>
T check(std::expected<T, std::error_code> value, const std::string& what) {
  if (!value) check(value.error(), what);
  return std::move(*value);
}

using verbs::printable;

}  // namespace iwarp::apps
