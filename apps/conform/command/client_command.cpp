// SPDX-License-Identifier: Apache-2.0
// Runs the command with /bin/sh -c, in its own process group. Killing the group also kills the
// children of the shell.
#include "conform/command/client_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "command_line/error.hpp"

namespace iwarp::apps::conform {

std::string with_port(const std::string& command, std::uint16_t port) {
  constexpr std::string_view kMark = "%p";
  std::string out = command;
  const std::string number = std::to_string(port);
  for (auto at = out.find(kMark); at != std::string::npos; at = out.find(kMark, at)) {
    out.replace(at, kMark.size(), number);
  }
  return out;
}

ClientCommand::ClientCommand(const std::string& command, std::uint16_t port, bool verbose)
    : command_(with_port(command, port)), verbose_(verbose) {}

std::string ClientCommand::failure() const {
  const auto ending = shell_ ? shell_->ending() : std::nullopt;
  if (!ending || ending->status == 0) return "";
  const auto how = ending->signal != 0 ? fmt::format("was killed by signal {}", ending->signal)
                                       : fmt::format("failed with exit status {}", ending->status);
  return fmt::format("the client command {} before the peer connected: {}", how, command_);
}

void ClientCommand::start() {
  stop();
  constexpr const char* kFailure = "cannot run /bin/sh";
  if (::access("/bin/sh", X_OK) != 0) throw Error(kFailure + (": " + errno_text()));
  const auto become_shell = [this] {
    // Redirect the command's output to standard error, or discard it, so that it does not mix with
    // the report on standard output.
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(verbose_ ? STDERR_FILENO : nothing, STDOUT_FILENO);
    if (!verbose_) ::dup2(nothing, STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", command_.c_str(), nullptr);
    return 127;  // as in shells: cannot execute
  };
  shell_.emplace(become_shell, kFailure, Child::Group::kOwn);
}

}  // namespace iwarp::apps::conform
