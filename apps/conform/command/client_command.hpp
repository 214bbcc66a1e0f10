// SPDX-License-Identifier: Apache-2.0
// ClientCommand: makes a connecting peer connect again by running the user's command with /bin/sh.
// Each command runs in a process group of its own; the previous group is killed first. With -v, the
// command's output goes to standard error; otherwise it is discarded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace iwarp::apps::conform {

class ClientCommand {
 public:
  /// Replaces each `%p` in `command` by the port.
  ClientCommand(const std::string& command, std::uint16_t port, bool verbose);
  ~ClientCommand();
  ClientCommand(const ClientCommand&) = delete;
  ClientCommand& operator=(const ClientCommand&) = delete;

  /// Kills the process group of the command, if one is running.
  void stop();
  /// Kills the previous command and runs the command again. Throws Error if no process can be
  /// created.
  void start();
  /// Returns how the command failed. The text is empty while the command runs, or if it ended with
  /// status 0.
  std::string failure();

 private:
  void reap(int options);

  const std::string command_;
  const bool verbose_;
  pid_t group_ = -1;
  int status_ = 0;  ///< status from waitpid(), once the shell has ended
  /// Whether waitpid() has returned the status of the shell; processes that the shell started may
  /// still run.
  bool is_reaped_ = true;
};

/// Returns `command` with every "%p" replaced.
std::string with_port(const std::string& command, std::uint16_t port);

}  // namespace iwarp::apps::conform
