// SPDX-License-Identifier: Apache-2.0
// ClientCommand: makes a peer connect again by running the user's command with /bin/sh. Each run is
// in its own process group; before the next run, the previous group is killed. With -v, the
// command's output goes to standard error; otherwise it is discarded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_line/child.hpp"

namespace iwarp::apps::conform {

class ClientCommand {
 public:
  /// Replaces each "%p" in `command` by the number of the port.
  ClientCommand(const std::string& command, std::uint16_t port, bool verbose);

  /// Kills the process group of the command, if one is running.
  void stop() { shell_.reset(); }
  /// Kills the previous command and runs the command again. Throws Error if no process can be
  /// created.
  void start();
  /// Returns how the command failed. The text is empty if the command is still running or has ended
  /// with status 0.
  std::string failure() const;

 private:
  const std::string command_;
  const bool verbose_;
  /// Even if the shell has ended, processes that it started may still be running.
  std::optional<Child> shell_;
};

/// Returns `command` with each "%p" replaced by `port`.
std::string with_port(const std::string& command, std::uint16_t port);

}  // namespace iwarp::apps::conform
