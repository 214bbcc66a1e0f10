// SPDX-License-Identifier: Apache-2.0
// The child processes of a local measurement: either only the server, or both ends. With both ends
// in child processes, earlier work of this process is not counted. The children are forked, and are
// killed when the parent ends. Call these functions before starting any thread.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "command_line/child.hpp"
#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::measure {

/// A child process that listens on loopback and serves one client. The child is killed after
/// `seconds`; 0 means no limit.
class ServerProcess {
 public:
  explicit ServerProcess(unsigned seconds = 0, const options::TlsSettings& tls = {});

  const net::Address& address() const { return address_; }

 private:
  net::Address address_;
  std::optional<Child> process_;
};

/// Runs `work` in a new process, which is killed after `seconds`, and returns its result, an
/// object. Throws Error with the text of the exception that `work` throws, or if the process ends
/// early.
nlohmann::json json_apart(const std::function<nlohmann::json()>& work, unsigned seconds);

/// Runs the client and the server in two new processes. Each process is killed after two minutes.
Measurement measure_apart(const Plan& plan);

}  // namespace iwarp::apps::measure
