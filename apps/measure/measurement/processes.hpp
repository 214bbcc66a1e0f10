// SPDX-License-Identifier: Apache-2.0
// The processes of a measurement on this machine: the server as a process of its own, or both ends,
// so that nothing that this one has done before counts. Started by fork, ended when we end: call
// these before any thread exists.
#pragma once

#include <sys/types.h>

#include <functional>

#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::measure {

/// Killed by the destructor, and when its parent ends.
class Process {
 public:
  /// Runs `work` there, whose value is the exit status; at most so long, 0: without a limit.
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

/// Client and server in two fresh processes, neither of which lives longer than two minutes.
Measurement measure_apart(const Plan& plan);

}  // namespace iwarp::apps::measure
