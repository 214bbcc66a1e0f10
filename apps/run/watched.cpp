// SPDX-License-Identifier: Apache-2.0
// Passes signals on to it, and ends in the same way as the child. Reports of the
// child arrive in a file in memory.
#include "watched.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "common/base/error.hpp"

namespace iwarp::apps {
namespace {

constexpr std::array kForwarded{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};

/// Returns whether the signal came from a process and not from the terminal. The terminal sends its
/// signals to the whole process group, so the child has already received them.
bool is_from_process(const siginfo_t& info) { return info.si_code <= 0; }

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
  ::sigprocmask(SIG_BLOCK, &awaited, &before);
  const Child child(
      [&] {
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        return become();
      },
      "fork");
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&awaited, &info);
    if (signal > 0 && signal != SIGCHLD && is_from_process(info)) child.kill(signal);
    if (signal != SIGCHLD) continue;
    if (const auto ending = child.ending()) return *ending;
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
