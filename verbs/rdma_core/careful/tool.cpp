// SPDX-License-Identifier: Apache-2.0
// The tool runs as a grandchild of the program, so that the kernel reports its end to the init
// process. The child between the two has no exit signal, so that only wait(2) with __WALL sees the
// end of the child. The child does not execute the tool itself, because an execve() would give it
// an exit signal. If the program is the init process of a container, or a subreaper, it gets
// SIGCHLD in spite of this.
#include "careful/tool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core::careful {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::seconds(10);
constexpr std::size_t kMaxOutput = 1 << 20;
constexpr std::size_t kStack = 1 << 18;

using Stack = std::vector<std::max_align_t>;
Stack make_stack() { return Stack(kStack / sizeof(std::max_align_t)); }

struct Child {
  /// The argument vectors, each with a null pointer at its end.
  std::vector<std::vector<char*>> commands;
  std::array<char*, 2> environment{};
  int output = -1;
  pid_t tool = -1;
  Stack stack_of_tool = make_stack();
};

constexpr int kFailed = 127;

// Starts the child or the grandchild. Both run in the memory of the program, each on a stack of its
// own, while the thread that called this function waits. All signals are blocked in them, because a
// signal handler of the program must not run in a child. The signals remain blocked in the tool.
pid_t start(int (*function)(void*), Stack& stack, int exit_signal, Child& child) {
  constexpr int kFlags = CLONE_VM | CLONE_VFORK;
  return ::clone(function, stack.data() + stack.size(), kFlags | exit_signal, &child);
}

// Sanitizers are switched off in execute() and start_tool(), because they do not know the stacks of
// the two children, and would report an error when a child exits.
__attribute__((no_sanitize("address", "thread"))) int execute(void* argument) {
  const Child& child = *static_cast<Child*>(argument);
  const int nothing = ::open("/dev/null", O_RDWR);
  if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(child.output, 1) < 0 ||
      ::dup2(nothing, 2) < 0) {
    ::_exit(kFailed);
  }
  // Closes the descriptors of the program, because another process may wait until all copies of a
  // descriptor are closed.
  (void)::syscall(SYS_close_range, 3U, ~0U, 0U);
  for (const auto& words : child.commands) {
    ::execvpe(words.front(), words.data(), child.environment.data());
  }
  ::_exit(kFailed);
}

__attribute__((no_sanitize("address", "thread"))) int start_tool(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  child.tool = start(execute, child.stack_of_tool, SIGCHLD, child);
  ::_exit(0);
}

/// Starts the tool. Returns as soon as the tool is running or has failed to start.
void start(Child& child) {
  Stack stack = make_stack();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t between = start(start_tool, stack, 0, child);
  while (between > 0 && ::waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Reads the output of the tool. Returns nullopt if the output is not complete at the time `until`,
/// or if it exceeds kMaxOutput.
std::optional<std::string> read_all(int from, Clock::time_point until) {
  std::string out;
  std::array<char, 4096> piece{};
  while (out.size() < kMaxOutput) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(left)) == 0) break;
    const auto got = ::read(from, piece.data(), piece.size());
    if (got == 0) return out;
    if (got < 0 && errno != EINTR) break;
    if (got > 0) out.append(piece.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

std::string output_of(std::span<const Words> commands) {
  const int error = errno;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  net::UniqueFd from(ends[0]);
  net::UniqueFd to(ends[1]);
  std::vector<Words> kept(commands.begin(), commands.end());
  const char* const path = std::getenv("PATH");
  std::string environment = std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin");
  Child child{.environment = {environment.data()}, .output = to.get()};
  for (Words& words : kept) {
    auto& pointers = child.commands.emplace_back();
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
  }
  start(child);
  to.reset();
  auto out = child.tool > 0 ? read_all(from.get(), Clock::now() + kLimit) : std::nullopt;
  // The process id still belongs to the tool: the tool's output is still open, which means that the
  // tool is still running.
  if (!out && child.tool > 0) ::kill(child.tool, SIGKILL);
  errno = error;
  return std::move(out).value_or("");
}

}  // namespace iwarp::rdma_core::careful
