// SPDX-License-Identifier: Apache-2.0
// Forks the child, passes signals on to it, and ends in the same way as the child. Reports of the
// child arrive in a file in memory.
#include "watched.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "common/base/error.hpp"

namespace iwarp::apps {
namespace {

constexpr std::array kForwarded{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
constexpr int kBySignal = 128;  // as in shells: a process killed by signal N has status 128 + N

/// Returns whether the signal came from a process and not from the terminal. The terminal sends its
/// signals to the whole process group, so the child has already received them.
bool is_from_process(const siginfo_t& info) { return info.si_code <= 0; }

[[noreturn]] void run_child(const std::function<int()>& become, pid_t parent,
                            const sigset_t& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the parent ended before prctl() took effect, exit.
  if (::getppid() != parent) ::_exit(kBySignal + SIGKILL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::_exit(become());
}

Ending ending_of(int status) {
  if (WIFEXITED(status)) return {.status = WEXITSTATUS(status), .signal = 0};
  return {.status = kBySignal + WTERMSIG(status), .signal = WTERMSIG(status)};
}

}  // namespace

Reports::Reports(const char* name) : file_(::memfd_create(name, MFD_CLOEXEC)) {
  if (!file_) throw Error(std::string(name) + ": memfd_create: " + errno_text());
}

std::string Reports::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }

std::string Reports::text() const {
  std::string out;
  std::array<char, 4096> piece{};
  ssize_t got = 0;
  while ((got = ::pread(file_.get(), piece.data(), piece.size(), std::ssize(out))) > 0) {
    out.append(piece.data(), static_cast<std::size_t>(got));
  }
  return out;
}

std::size_t Reports::count() const {
  return static_cast<std::size_t>(std::ranges::count(text(), '\n'));
}

std::vector<std::string> Reports::last_lines(std::size_t most) const {
  const std::string all = text();
  std::vector<std::string> out;
  for (std::size_t at = 0; at < all.size();) {
    const auto end = std::min(all.find('\n', at), all.size());
    out.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  const auto surplus = out.size() - std::min(out.size(), most);
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(surplus));
  return out;
}

Ending run_in_child(const std::function<int()>& become) {
  sigset_t awaited;
  sigset_t before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  for (const int signal : kForwarded) sigaddset(&awaited, signal);
  // This process may have inherited an ignored SIGCHLD, with which waitpid() cannot return a
  // status.
  std::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw Error("fork: " + errno_text());
  if (child == 0) run_child(become, parent, before);
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&awaited, &info);
    if (signal > 0 && signal != SIGCHLD && is_from_process(info)) ::kill(child, signal);
    int status = 0;
    if (signal == SIGCHLD && ::waitpid(child, &status, WNOHANG) == child) return ending_of(status);
  }
}

int end_as(const Ending& ending) {
  if (ending.signal == 0) return ending.status;
  const rlimit no_core{};
  // Prevent a second core dump: the child has already written one if core dumps are enabled.
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(ending.signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, ending.signal);
  ::raise(ending.signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  return ending.status;
}

}  // namespace iwarp::apps
