// SPDX-License-Identifier: Apache-2.0
// The processes of a local measurement: the server as a separate process, or both ends, so that
// earlier work of this process does not count. Children are forked and are killed when the parent
// ends. Call these before starting any thread.
#pragma once

#include <sys/types.h>

#include <functional>

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::measure {

/// A child that is killed by the destructor, and when its parent ends.
class Process {
 public:
  /// Runs `work` in the child; its return value is the exit status. The child is killed after
  /// `seconds`, 0 for no limit.
  explicit Process(const std::function<int()>& work, unsigned seconds = 0);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

 private:
  pid_t pid_ = -1;
};

/// Listens on loopback and serves one client.
class ServerProcess {
 public:
  explicit ServerProcess(unsigned seconds = 0, const options::TlsSettings& tls = {});

  const net::Address& address() const { return address_; }

 private:
  ServerProcess(Listener listener, unsigned seconds, const options::TlsSettings& tls);

  net::Address address_;
  Process process_;
};

/// Runs client and server in two fresh processes, each of which lives at most two minutes.
Measurement measure_apart(const Plan& plan);

}  // namespace iwarp::apps::measure
