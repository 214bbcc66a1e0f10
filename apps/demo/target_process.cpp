// SPDX-License-Identifier: Apache-2.0
// Forks the second process of the demonstration and reads its reports from a pipe.
#include "demo/target_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

namespace iwarp::apps {

TargetProcess::TargetProcess(const DemoOptions& options) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot create a pipe: " + errno_text());
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error("cannot start the target process: " + errno_text());
  if (pid_ == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // If the parent ended before prctl() took effect, exit.
    _exit(getppid() == parent ? run_demo_target(options, ends[1]) : kExitFailure);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

TargetProcess::~TargetProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (pipe_ >= 0) close(pipe_);
}

std::string TargetProcess::expect(const std::string& word) {
  const auto line = next_line();
  if (line == word) return "";
  if (line.starts_with(word + " ")) return line.substr(word.size() + 1);
  if (line.starts_with("failed ")) throw Error("target process: " + line.substr(7));
  throw Error("the target process reported \"" + line + "\" instead of \"" + word + "\"");
}

void TargetProcess::finish() {
  expect("done");
  int status = 0;
  const auto pid = waitpid(pid_, &status, 0);
  pid_ = -1;
  if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error("the target process failed");
  }
}

std::string TargetProcess::next_line() {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      auto line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    pollfd on{.fd = pipe_, .events = POLLIN, .revents = 0};
    const int ready = poll(&on, 1, static_cast<int>(kDemoPatience.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw Error("the target process did not report in time");
    std::array<char, 512> chunk{};
    const auto n = read(pipe_, chunk.data(), chunk.size());
    if (n <= 0) throw Error("the target process ended early");
    received_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace iwarp::apps
