// SPDX-License-Identifier: Apache-2.0
// Runs the command with /bin/sh -c, in its own process group. Killing the group also kills the
// children of the shell.
#include "conform/command/client_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "common/base/error.hpp"

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

ClientCommand::~ClientCommand() { stop(); }

void ClientCommand::stop() {
  if (group_ < 0) return;
  ::kill(-group_, SIGKILL);
  reap(0);
  group_ = -1;
}

void ClientCommand::reap(int options) {
  if (is_reaped_) return;
  pid_t done = 0;
  do {
    done = ::waitpid(group_, &status_, options);
  } while (done < 0 && errno == EINTR);
  is_reaped_ = done != 0;
}

std::string ClientCommand::failure() {
  if (group_ < 0) return "";
  reap(WNOHANG);
  if (!is_reaped_ || status_ == 0) return "";
  const auto how = WIFSIGNALED(status_)
                       ? fmt::format("was killed by signal {}", WTERMSIG(status_))
                       : fmt::format("failed with exit status {}", WEXITSTATUS(status_));
  return fmt::format("the client command {} before the peer connected: {}", how, command_);
}

void ClientCommand::start() {
  stop();
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  // Redirect the command's output to standard error, or discard it, so that it does not mix with
  // the report on standard output.
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (verbose_) {
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::string shell = "sh";
  std::string option = "-c";
  std::string command = command_;
  std::array<char*, 4> arguments{shell.data(), option.data(), command.data(), nullptr};
  const int error =
      ::posix_spawn(&group_, "/bin/sh", &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  is_reaped_ = error != 0;
  status_ = 0;
  if (error != 0) {
    group_ = -1;
    throw Error("cannot run /bin/sh: " + to_text(std::error_code(error, std::generic_category())));
  }
}

}  // namespace iwarp::apps::conform
