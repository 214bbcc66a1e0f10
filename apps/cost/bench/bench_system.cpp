// SPDX-License-Identifier: Apache-2.0
// Measures the cost of operating system services: system calls, wake-ups, gather lists.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "measure/basics/control.hpp"
#include "measure/measurement/processes.hpp"

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

/// Returns the processor time of this process and of a child per wake-up, if the child runs on
/// `other` and this process on the first processor. The cost of the two system calls in each turn
/// is subtracted. Pins this process.
double ping_pong(unsigned other) {
  const Pipe there;
  const Pipe back;
  const auto children = usage::processor_ns(RUSAGE_CHILDREN);
  double own = 0;
  {
    const measure::Process child([&] {
      measure::run_on(other);
      for (int i = 0; i < kTurns; ++i) {
        if (!there.get() || !back.put()) return kExitFailure;
      }
      return 0;
    });
    const auto before = usage::processor_ns(RUSAGE_SELF);
    for (int i = 0; i < kTurns; ++i) {
      if (!there.put() || !back.get()) break;
    }
    own = usage::processor_ns(RUSAGE_SELF) - before;
  }
  const auto turn = (own + usage::processor_ns(RUSAGE_CHILDREN) - children) / (2 * kTurns);
  const auto calls = time_of([&] { (void)(there.put() && there.get()); }, kTurns);
  return std::max(0.0, turn - calls);
}

/// A TCP connection over loopback; this process has both ends of it.
class Echo {
 public:
  Echo() {
    if (!far_) throw Error("cannot connect over loopback");
  }
  void once() {
    near_.send(octets_, measure::Clock::time_point::max());
    far_->receive(octets_, measure::Clock::time_point::max());
  }

 private:
  const measure::Clock::time_point deadline_ = measure::Clock::now() + measure::kTimeout;
  measure::Listener listener_{{.host = "127.0.0.1", .port = 0}};
  measure::Socket near_ =
      measure::Socket::connect({.host = "127.0.0.1", .port = listener_.port()}, deadline_);
  std::optional<measure::Socket> far_ = listener_.accept(deadline_);
  std::array<std::byte, 1024> octets_{};
};

}  // namespace

Sample apart(const std::function<Sample()>& benchmark) {
  constexpr unsigned kLongest = 60;  // in seconds
  const auto result = measure::json_apart(
      [&] {
        const auto out = benchmark();
        return nlohmann::json{{"value", out.value}, {"spread", out.spread}};
      },
      kLongest);
  return {result["value"].get<double>(), result["spread"].get<double>()};
}

Sample bench_syscall() {
  return sample([] { return time_of([] { syscall(SYS_getppid); }, kCalls); });
}

Sample bench_wakeup(bool other) {
  const auto cpus = measure::allowed_cpus();
  if (other && cpus.size() == 1) throw Error("this process is allowed to use only one processor");
  return apart([&] {
    measure::run_on(cpus.front());
    return sample([&] { return ping_pong(other ? cpus.back() : cpus.front()); }, 7);
  });
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
