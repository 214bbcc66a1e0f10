// SPDX-License-Identifier: Apache-2.0
// Starts programs with limits of time, memory and output, reads what they print, and kills all
// their descendants at the end.
#include "learn/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "command_line/child.hpp"
#include "command_line/error.hpp"
#include "command_line/stop.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::apps::learn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kOutputLimit = 1 << 20;
constexpr rlim_t kFileLimit = 64 << 20;

/// Makes the kernel kill this process if it starts a process or sends a signal to one. Threads are
/// permitted. Returns false if the kernel has no filters for system calls.
bool forbid_processes() {
  constexpr auto kNumber = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  constexpr auto kFlags = static_cast<std::uint32_t>(offsetof(seccomp_data, args));
  std::array filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
#ifdef SYS_fork
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 8, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 7, 0),
#endif
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 6, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 4, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 2),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 2),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      // The C library then calls clone(), whose flags the filter can read.
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void set_limit(__rlimit_resource what, rlim_t most) {
  rlimit limit{};
  ::getrlimit(what, &limit);
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(what, &limit);
}

/// Becomes the program. Returns only if that fails; the result is the exit status.
int become(const Program& program, const char* folder, int output) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (program.descriptor >= 0) ::fcntl(program.descriptor, F_SETFD, 0);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, kFileLimit);
  std::signal(SIGXFSZ, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  for (const auto& [name, value] : program.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  words.reserve(program.words.size() + 1);
  for (const auto& word : program.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (program.memory != 0) set_limit(RLIMIT_AS, program.memory);
  if (program.seconds != 0) {
    const rlimit limit{.rlim_cur = program.seconds, .rlim_max = program.seconds + 1};
    ::setrlimit(RLIMIT_CPU, &limit);
  }
  if (program.is_single) forbid_processes();
  if (::chdir(folder) == 0) ::execvp(words.front(), words.data());
  constexpr int kNotFound = 127;
  return kNotFound;
}

/// Returns the processes whose parent is this process.
std::vector<pid_t> children() {
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream in(task.path() / "children");
    out.insert(out.end(), std::istream_iterator<pid_t>(in), {});
  }
  return out;
}

/// The processes of one call of run_together().
class Group {
 public:
  Group() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  /// Kills all processes. A process whose parent has been killed becomes a child of this process,
  /// so the loop ends when no descendant is left.
  ~Group() {
    running_.clear();
    for (auto left = children(); !left.empty(); left = children()) {
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      for (const pid_t pid : left) ::waitpid(pid, nullptr, 0);
    }
  }

  void start(const Program& program, const char* folder) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw Error("pipe: " + errno_text());
    net::UniqueFd read_end(pipe[0]);
    const net::UniqueFd write_end(pipe[1]);
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    Child child([&] { return become(program, folder, write_end.get()); }, "fork",
                Child::Group::kOwn);
    net::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0)));
    if (!process) throw Error("pidfd_open: " + errno_text());
    running_.push_back({std::move(child), std::move(process), std::move(read_end), {}});
  }

  std::vector<Ended> wait(std::chrono::milliseconds limit) {
    auto deadline = Clock::now() + limit;
    auto late = End::kTimeLimit;
    while (std::ranges::any_of(running_, [](const Running& one) { return bool(one.child); })) {
      wait_for_event(deadline);
      for (Running& one : running_) {
        read(one);
        reap(one);
      }
      if (!running_.front().child && late == End::kTimeLimit) {
        late = End::kKilled;
        deadline = Clock::now() + limit;
      }
      if (Clock::now() < deadline) continue;
      for (Running& one : running_) end(one, late);
    }
    std::vector<Ended> out;
    for (Running& one : running_) {
      read(one);
      out.push_back(std::move(one.ended));
    }
    return out;
  }

 private:
  struct Running {
    std::optional<Child> child;  ///< empty once the process has ended
    net::UniqueFd process;
    net::UniqueFd output;
    Ended ended;
  };

  void wait_for_event(Clock::time_point deadline) {
    std::vector<pollfd> events{{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
    for (const Running& one : running_) {
      if (!one.child) continue;
      events.push_back({.fd = one.process.get(), .events = POLLIN, .revents = 0});
      if (one.output) events.push_back({.fd = one.output.get(), .events = POLLIN, .revents = 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    ::poll(events.data(), events.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (stop_requested()) throw Interrupted();
  }

  static void read(Running& one) {
    std::array<char, 65536> piece{};
    while (one.output) {
      const ssize_t got = ::read(one.output.get(), piece.data(), piece.size());
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        one.output.reset();
        return;
      }
      one.ended.output.append(piece.data(), static_cast<std::size_t>(got));
      if (one.ended.output.size() > kOutputLimit) end(one, End::kOutputLimit);
    }
  }

  static void reap(Running& one) {
    const auto ending = one.child ? one.child->ending() : std::nullopt;
    if (!ending) return;
    one.child.reset();  // kills its group
    one.ended.end = ending->signal == 0 ? End::kExited : End::kSignal;
    one.ended.status = ending->signal == 0 ? ending->status : ending->signal;
    if (ending->signal == SIGXCPU) one.ended.end = End::kTimeLimit;
  }

  static void end(Running& one, End why) {
    one.output.reset();
    if (!one.child) return;
    one.child.reset();
    one.ended.end = why;
  }

  std::vector<Running> running_;
};

}  // namespace

std::vector<Ended> run_together(const std::vector<Program>& programs,
                                const std::filesystem::path& folder,
                                std::chrono::milliseconds limit) {
  Group group;
  for (const Program& program : programs) {
    group.start(program, folder.c_str());
    // Close the own copy, so that a program whose peer ends reads the end of the stream.
    if (program.descriptor >= 0) ::close(program.descriptor);
  }
  return group.wait(limit);
}

}  // namespace iwarp::apps::learn
