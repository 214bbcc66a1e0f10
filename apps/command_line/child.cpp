// SPDX-License-Identifier: Apache-2.0
// Forks a process, looks at its end without reaping it, and reaps it last of all.
#include "command_line/child.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "command_line/error.hpp"

namespace iwarp::apps {
namespace {

constexpr int kBySignal = 128;  // as in shells: a process killed by signal N has status 128 + N

/// Runs `work` in the child. An exception must not unwind the frames of the parent, whose
/// destructors would act a second time.
[[noreturn]] void run_work(const std::function<int()>& work, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitFailure);  // The parent ended before prctl() took effect.
  try {
    ::_exit(work());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
    ::_exit(kExitFailure);
  } catch (...) {
    ::_exit(kExitFailure);
  }
}

/// Returns nullopt if the process is running and `flags` contains WNOHANG.
std::optional<Ending> ending_of(pid_t pid, int flags) {
  siginfo_t about{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOWAIT | flags) != 0 &&
         errno == EINTR) {
  }
  if (about.si_pid == 0) return {};
  if (about.si_code == CLD_EXITED) return Ending{.status = about.si_status, .signal = 0};
  return Ending{.status = kBySignal + about.si_status, .signal = about.si_status};
}

}  // namespace

Child::Child(const std::function<int()>& work, const char* failure, Group group) : group_(group) {
  // This process may have inherited an ignored SIGCHLD, with which the kernel reaps children.
  std::signal(SIGCHLD, SIG_DFL);
  // The child has a copy of the buffered output and could print it again.
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw Error(std::string(failure) + ": " + errno_text());
  // Both processes set the group, so that neither can use it before it exists.
  if (group_ == Group::kOwn) ::setpgid(pid_, pid_);
  if (pid_ == 0) run_work(work, parent);
}

Child::~Child() {
  if (pid_ < 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Child::kill(int signal) const { ::kill(group_ == Group::kOwn ? -pid_ : pid_, signal); }

std::optional<Ending> Child::ending() const { return ending_of(pid_, WNOHANG); }

Ending Child::wait() const { return ending_of(pid_, 0).value(); }

}  // namespace iwarp::apps
