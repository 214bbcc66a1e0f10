// SPDX-License-Identifier: Apache-2.0
// The server as a process of its own, for --self: started by fork, gone when we go.
#pragma once

#include <sys/types.h>

#include "perf/session.hpp"

namespace iwarp::apps::perf {

class ServerProcess {
 public:
  /// Forks: call before any thread exists. It listens on loopback and serves one client.
  ServerProcess();
  /// Kills it if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const net::Address& address() const { return address_; }

 private:
  net::Address address_{.host = "127.0.0.1"};
  pid_t pid_ = -1;
};

}  // namespace iwarp::apps::perf
