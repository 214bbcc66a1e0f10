// SPDX-License-Identifier: Apache-2.0
// Measures the cost of operating system services: system calls, wake-ups, gather lists, and packets
// over a pair of virtual Ethernet devices.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "cost/bench/record.hpp"
#include "measure/measurement/processes.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::uint64_t kCalls = 20'000;
constexpr int kTurns = 2000;

// These addresses are reserved for documentation (RFC 5737), so no real network uses them.
constexpr const char* kNear = "192.0.2.1";
constexpr const char* kFar = "192.0.2.2";
constexpr std::uint64_t kMessage = 64 << 10;
constexpr std::uint64_t kMessages = 768;
constexpr double kHeaders = 52;  // size of the IP and TCP headers, including timestamps

[[noreturn]] void fail(const std::string& what) { throw Error(what + ": " + errno_text()); }

/// Two descriptors that `create`, a system call named `name`, has connected.
struct Ends {
  template <typename Create>
  Ends(const char* name, Create create) {
    std::array<int, 2> ends{};
    if (create(ends.data()) != 0) fail(name);
    out = net::UniqueFd(ends[0]);
    in = net::UniqueFd(ends[1]);
  }
  net::UniqueFd out, in;
};

struct Pipe : Ends {
  Pipe() : Ends("pipe", [](int* ends) { return pipe2(ends, O_CLOEXEC); }) {}
  bool put() const { return write(in.get(), "", 1) == 1; }
  bool get() const {
    char c = 0;
    return read(out.get(), &c, 1) == 1;
  }
};

/// Runs a benchmark in a process of its own, whose settings end with it. Throws Error with the text
/// of the benchmark's error, or if the benchmark takes longer than a minute.
Sample in_a_child(const std::function<Sample()>& benchmark) {
  constexpr unsigned kLongest = 60;  // in seconds
  const auto result = measure::json_apart(
      [&] {
        const auto out = benchmark();
        return nlohmann::json{{"value", out.value}, {"spread", out.spread}};
      },
      kLongest);
  return {result["value"].get<double>(), result["spread"].get<double>()};
}

/// Returns the processor time of this process and of a child per wake-up, if the child runs on
/// `other` and this process on the first processor. The cost of the two system calls in each turn
/// is subtracted. Pins this process.
double ping_pong(unsigned other) {
  const Pipe there;
  const Pipe back;
  const auto children = usage::processor_ns(RUSAGE_CHILDREN);
  double own = 0;
  {
    const Child child([&] {
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

void ip(const std::string& arguments) {
  const auto command = "ip " + arguments + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) throw Error("\"ip " + arguments + "\" failed");
}

/// Brings up one end of the pair in the namespace of this process. Disables segmentation offload
/// and aggregation, so that the network stack processes each packet separately.
void set_up(const char* device, const char* address) {
  ip(fmt::format("addr add {}/24 dev {}", address, device));
  ip(fmt::format("link set {} mtu 9000 up", device));
  const net::UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const std::uint32_t what :
       {unsigned{ETHTOOL_STSO}, unsigned{ETHTOOL_SGSO}, unsigned{ETHTOOL_SGRO}}) {
    ethtool_value value{.cmd = what, .data = 0};
    ifreq request{};
    std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (ioctl(fd.get(), SIOCETHTOOL, &request) != 0) fail("ethtool");
  }
}

/// Serves one transfer after the other, until this process is killed.
int serve(measure::Listener& listener) {
  for (;;) {
    if (auto client = listener.accept(measure::Clock::now() + measure::kTimeout)) {
      serve_client(measure::Control(std::move(*client)), {.host = kFar, .own_process = true});
    }
  }
}

/// Creates two namespaces, the near one for this process and the far one for a server, and returns
/// the cost of a packet on one side: the additional processor time of both sides for a transfer in
/// small packets, divided by the number of additional packets, and then by 2. The namespaces
/// disappear when the processes end.
Sample between_namespaces() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    fail("cannot create a network namespace");
  }
  const net::UniqueFd near(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (unshare(CLONE_NEWNET) != 0) fail("cannot create a second network namespace");
  ip("link add cost0 type veth peer name cost1");
  ip(fmt::format("link set cost0 netns /proc/{}/fd/{}", getpid(), near.get()));
  set_up("cost1", kFar);
  measure::Listener listener({.host = kFar});
  const Child server([&] { return serve(listener); });
  if (setns(near.get(), CLONE_NEWNET) != 0) fail("cannot enter the first network namespace");
  set_up("cost0", kNear);
  auto run = socket_run(kMessage, 0, "any");
  run.messages = kMessages;
  const auto transfer = [&, plan = plan_of(run)](int mtu) {
    // The MTU is changed on the sending side only; the MTU of the far side is always 9000.
    ip(fmt::format("link set cost0 mtu {}", mtu));
    const auto result = take_measurement(plan, {.host = kFar, .port = listener.port()});
    return result.used.cpu_ns + result.server.cpu_ns;
  };
  constexpr int kSmall = 1500;
  constexpr int kLarge = 9000;
  const auto packets = [](int mtu) { return kMessage * kMessages / (mtu - kHeaders); };
  return sample(
      [&] {
        return (transfer(kSmall) - transfer(kLarge)) / (packets(kSmall) - packets(kLarge)) / 2;
      },
      5);
}

}  // namespace

Sample bench_syscall() {
  return sample([] { return time_of([] { syscall(SYS_getppid); }, kCalls); });
}

Findings bench_wakeup(bool apart) {
  const auto cpus = measure::allowed_cpus();
  if (apart && cpus.size() == 1) throw Error("this process is allowed to use only one processor");
  const auto cost = in_a_child([&] {
    measure::run_on(cpus.front());
    return sample([&] { return ping_pong(apart ? cpus.back() : cpus.front()); }, 7);
  });
  return {{"wakeup",
           {cost, fmt::format("ping-pong between two processes over pipes, {}",
                              apart ? "two processors" : "same processor")}}};
}

Findings bench_iovec() {
  constexpr int kMany = 64;
  const Ends ends("socketpair",
                  [](int* fds) { return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds); });
  std::array<char, kMany> octets{};
  std::array<iovec, kMany> list;
  for (std::size_t i = 0; i < kMany; ++i) list[i] = {&octets[i], 1};
  iovec whole{octets.data(), octets.size()};
  const auto call = [&](iovec* at, std::size_t count) {
    const msghdr message{.msg_iov = at, .msg_iovlen = count};
    return time_of(
        [&] {
          if (sendmsg(ends.in.get(), &message, 0) < 0 ||
              read(ends.out.get(), octets.data(), kMany) < 0) {
            fail("socketpair");
          }
        },
        kCalls / 4);
  };
  const auto cost = [&] {
    return std::max(0.0, (call(list.data(), kMany) - call(&whole, 1)) / (kMany - 1));
  };
  return {
      {"iovec", {sample(cost), "sendmsg() to a local socket, 64 iovec elements compared with 1"}}};
}

Findings bench_packet() {
  const auto packet = in_a_child(between_namespaces);
  if (packet.value <= 0) {
    throw Error("the measurement is too noisy: the cost of a packet is not positive");
  }
  const std::string how =
      "veth without segmentation offload, MTU 1500 compared with 9000; includes TCP processing";
  return {{"packet_tx", {packet, how}}, {"packet_rx", {packet, how}}};
}

}  // namespace iwarp::apps::cost
