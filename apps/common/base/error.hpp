// SPDX-License-Identifier: Apache-2.0
// How a command fails: by exception up to main(), which prints one line and chooses the exit
// status. The texts are for people: what was wrong, with which value. They carry no trailing full
// stop.
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

/// The command could not do its work: exit status 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line makes no sense: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A signal asked the program to end.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// The stream to the peer has ended, whoever ended it.
class PeerGone : public Error {
 public:
  using Error::Error;
};

/// The text of `error`, first letter in lower case so that it can follow a colon.
std::string to_text(const std::error_code& error);
/// The text of errno.
std::string errno_text();

/// Why a connection did not come about: refused, rejected with the peer's words, timed out ...
std::string to_text(const net::CmEvent& event);

/// Throws Error("`what`: reason") when `error` is set.
void check(const std::error_code& error, std::string_view what);

/// The value, or Error("`what`: reason").
template <typename T>
T check(std::expected<T, std::error_code> value, const std::string& what) {
  if (!value) check(value.error(), what);
  return std::move(*value);
}

using verbs::printable;

}  // namespace iwarp::apps
