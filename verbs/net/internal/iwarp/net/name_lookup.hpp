// SPDX-License-Identifier: Apache-2.0
// NameLookup: resolves a host name in a detached thread. getaddrinfo(3) can take many seconds and
// cannot be interrupted, so the thread may outlive the NameLookup if the caller gives up.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace iwarp::net {

/// One lookup. May be destroyed before the lookup is done.
class NameLookup {
 public:
  /// Starts to resolve `host`; an empty `host` means this machine. Throws std::system_error if no
  /// thread or descriptor is available.
  explicit NameLookup(std::string host);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  /// Returns a descriptor that becomes readable when result() may be called. The object owns it.
  int fd() const;
  /// Returns the numeric addresses, at least one, in the order in which to try them. Fails with the
  /// error of getaddrinfo(3), in a category whose messages are those of gai_strerror(3).
  std::expected<std::vector<std::string>, std::error_code> result() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  ///< shared with the thread
};

}  // namespace iwarp::net
