// SPDX-License-Identifier: Apache-2.0
// ClientCommand: makes a peer that connects do it once more, by running the user's command through
// /bin/sh. One process group per call; the one before is killed first. What the command prints is
// the user's business only with -v, on standard error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace iwarp::apps::conform {

class ClientCommand {
 public:
  /// `%p` in `command` stands for the port.
  ClientCommand(const std::string& command, std::uint16_t port, bool verbose);
  ~ClientCommand();
  ClientCommand(const ClientCommand&) = delete;
  ClientCommand& operator=(const ClientCommand&) = delete;

  /// Ends what runs still.
  void stop();
  /// Error: no process.
  void start();
  /// How the command failed, for people; empty: it runs still, or ended with status 0.
  std::string failure();

 private:
  void reap(int options);

  const std::string command_;
  const bool verbose_;
  pid_t group_ = -1;
  int status_ = 0;         ///< as waitpid() has it, once it has ended
  bool is_reaped_ = true;  ///< what it has started may run still
};

/// `command` with every "%p" replaced.
std::string with_port(const std::string& command, std::uint16_t port);

}  // namespace iwarp::apps::conform
