// SPDX-License-Identifier: Apache-2.0
// NameLookup: the addresses of a host, found in a thread of its own that nobody waits for.
// getaddrinfo(3) can take many seconds and cannot be interrupted, so whoever is asked to stop
// meanwhile leaves it behind.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace iwarp::net {

class NameLookup {
 public:
  /// Of this machine, if `host` is empty. Throws std::system_error where there is no thread or no
  /// descriptor to be had.
  explicit NameLookup(std::string host);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  /// Readable once result() may be called.
  int fd() const;
  /// Numeric, at least one, in the order in which they should be tried. An error has the words of
  /// gai_strerror(3).
  std::expected<std::vector<std::string>, std::error_code> result() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  ///< with the thread
};

}  // namespace iwarp::net
