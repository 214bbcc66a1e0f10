// SPDX-License-Identifier: Apache-2.0
// Measures the cost of operating system services: system calls, wake-ups, gather lists.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::uint64_t kCalls = 20'000;
constexpr int kTurns = 2000;

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("pipe: " + errno_text());
  }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool put() const {
    const char c = 0;
    return write(ends[1], &c, 1) == 1;
  }
  bool get() const {
    char c = 0;
    return read(ends[0], &c, 1) == 1;
  }
  std::array<int, 2> ends{};
};

/// Pins this process to the first or the last processor that it may use. The destructor restores
/// the original set of processors.
class Pinned {
 public:
  Pinned() { sched_getaffinity(0, sizeof before_, &before_); }
  ~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  int first() const {
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &before_)) ++cpu;
    return cpu;
  }
  int last() const {
    int cpu = CPU_SETSIZE - 1;
    while (cpu > 0 && !CPU_ISSET(cpu, &before_)) --cpu;
    return cpu;
  }
  static void to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
  }

 private:
  cpu_set_t before_{};
};

double cpu_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/// Returns the processor time of both processes per wake-up. The cost of the two system calls in
/// each turn is subtracted.
double ping_pong(const Pinned& pinned, bool other) {
  const Pipe there;
  const Pipe back;
  const auto children = cpu_of(RUSAGE_CHILDREN);
  const auto pid = fork();
  if (pid < 0) throw Error("fork: " + errno_text());
  if (pid == 0) {
    Pinned::to(other ? pinned.last() : pinned.first());
    for (int i = 0; i < kTurns; ++i) {
      if (!there.get() || !back.put()) _exit(1);
    }
    _exit(0);
  }
  Pinned::to(pinned.first());
  const auto own = cpu_of(RUSAGE_SELF);
  for (int i = 0; i < kTurns; ++i) {
    if (!there.put() || !back.get()) break;
  }
  const auto used = cpu_of(RUSAGE_SELF) - own;
  int status = 0;
  waitpid(pid, &status, 0);
  const auto turn = (used + cpu_of(RUSAGE_CHILDREN) - children) / (2 * kTurns);
  const auto calls = time_of([&] { (void)(there.put() && there.get()); }, kTurns);
  return std::max(0.0, turn - calls);
}

/// A TCP connection over loopback; this process has both ends of it.
class Echo {
 public:
  Echo() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    near_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    const bool up = bind(listener, address, size) == 0 && listen(listener, 1) == 0 &&
                    getsockname(listener, address, &size) == 0 &&
                    connect(near_, address, size) == 0;
    far_ = up ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    close(listener);
    if (far_ < 0) throw Error("cannot connect over loopback: " + errno_text());
    const int on = 1;
    setsockopt(near_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Echo() {
    close(near_);
    close(far_);
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  void once() {
    if (::send(near_, octets_.data(), octets_.size(), 0) < 0 ||
        recv(far_, octets_.data(), octets_.size(), 0) < 0) {
      throw Error("cannot transfer data over loopback: " + errno_text());
    }
  }

 private:
  int near_ = -1;
  int far_ = -1;
  std::array<char, 1024> octets_{};
};

}  // namespace

Sample bench_syscall() {
  return sample([] { return time_of([] { syscall(SYS_getppid); }, kCalls); });
}

Sample bench_wakeup(bool other) {
  const Pinned pinned;
  if (other && pinned.first() == pinned.last())
    throw Error("this process is allowed to use only one processor");
  return sample([&] { return ping_pong(pinned, other); }, 7);
}

double time_between_calls(const std::function<void()>& call, std::uint64_t times) {
  Echo echo;
  const auto both = time_of(
      [&] {
        call();
        echo.once();
      },
      times);
  return std::max(0.0, both - time_of([&] { echo.once(); }, times));
}

Sample bench_iovec() {
  constexpr int kMany = 64;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error("socketpair: " + errno_text());
  }
  std::array<char, kMany> octets{};
  std::array<iovec, kMany> list;
  for (std::size_t i = 0; i < kMany; ++i) list[i] = {&octets[i], 1};
  iovec whole{octets.data(), octets.size()};
  const auto call = [&](iovec* at, std::size_t count) {
    const msghdr message{.msg_iov = at, .msg_iovlen = count};
    return time_of(
        [&] {
          if (sendmsg(ends[0], &message, 0) < 0 || read(ends[1], octets.data(), kMany) < 0) {
            throw Error("socketpair: " + errno_text());
          }
        },
        kCalls / 4);
  };
  const auto out = sample(
      [&] { return std::max(0.0, (call(list.data(), kMany) - call(&whole, 1)) / (kMany - 1)); });
  close(ends[0]);
  close(ends[1]);
  return out;
}

}  // namespace iwarp::apps::cost
