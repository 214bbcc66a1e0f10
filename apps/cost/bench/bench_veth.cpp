// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a packet: sends the same bytes with an MTU of 1500 and of 9000, over a pair
// of virtual Ethernet devices between two network namespaces. Segmentation offload and aggregation
// are off, so that only the number of packets differs. Requires iproute2 and permission to create
// namespaces. The namespaces disappear when the processes end.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "cost/bench/measure.hpp"

namespace iwarp::apps::cost {

namespace {

// These addresses are reserved for documentation (RFC 5737), so no real network uses them.
constexpr const char* kNear = "192.0.2.1";
constexpr const char* kFar = "192.0.2.2";
constexpr std::uint16_t kPort = 4711;
constexpr std::size_t kOctets = 48 << 20;
constexpr std::size_t kHeaders = 52;    // size of the IP and TCP headers, including timestamps
constexpr unsigned kVethPatience = 60;  // time limit of the benchmark in seconds

[[noreturn]] void fail(const std::string& what) { throw Error(what + ": " + errno_text()); }

void ip(const std::string& arguments) {
  const auto command = "ip " + arguments + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) throw Error("\"ip " + arguments + "\" failed");
}

/// Disables segmentation offload and aggregation on the device, so that the network stack processes
/// each packet separately.
void without_offload(const char* device) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const std::uint32_t what :
       {unsigned{ETHTOOL_STSO}, unsigned{ETHTOOL_SGSO}, unsigned{ETHTOOL_SGRO}}) {
    ethtool_value value{.cmd = what, .data = 0};
    ifreq request{};
    std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (ioctl(fd, SIOCETHTOOL, &request) != 0) fail("ethtool");
  }
  close(fd);
}

sockaddr_in address(const char* host) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(kPort);
  inet_pton(AF_INET, host, &out.sin_addr);
  return out;
}

/// Runs in the far namespace: receives all bytes, and reports the processor time of this side.
void far_side(int line) {
  if (unshare(CLONE_NEWNET) != 0) fail("cannot create a second network namespace");
  char go = 0;
  if (write(line, &go, 1) != 1 || read(line, &go, 1) != 1) fail("pipe");
  ip(fmt::format("addr add {}/24 dev cost1", kFar));
  ip("link set cost1 mtu 9000 up");
  without_offload("cost1");
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto at = address(kFar);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail("bind");
  if (listen(listener, 1) != 0) fail("listen");
  if (write(line, &go, 1) != 1) fail("pipe");
  std::vector<std::byte> buffer(256 << 10);
  for (int fd; (fd = accept(listener, nullptr, nullptr)) >= 0; close(fd)) {
    const auto before = used_so_far().cpu_ns;
    for (std::size_t left = kOctets; left > 0;) {
      const auto n = recv(fd, buffer.data(), std::min(left, buffer.size()), 0);
      if (n <= 0) return;
      left -= static_cast<std::size_t>(n);
    }
    const double used = used_so_far().cpu_ns - before;
    if (write(line, &used, sizeof used) != sizeof used) return;
  }
}

/// Sends all bytes. Returns the processor time of both sides together.
double transfer(int line) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto to = address(kFar);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
  const std::vector<std::byte> buffer(64 << 10);
  const auto before = used_so_far().cpu_ns;
  for (std::size_t left = kOctets; left > 0;) {
    const auto n = send(fd, buffer.data(), std::min(left, buffer.size()), MSG_NOSIGNAL);
    if (n <= 0) fail("send");
    left -= static_cast<std::size_t>(n);
  }
  double far = 0;
  if (read(line, &far, sizeof far) != sizeof far) throw Error("the receiving process ended early");
  close(fd);
  return used_so_far().cpu_ns - before + far;
}

double packets(int mtu) {
  return static_cast<double>(kOctets) / static_cast<double>(mtu - static_cast<int>(kHeaders));
}

/// Runs in the near namespace. Returns the cost of a packet on one side: the additional processor
/// time of a transfer in small packets, divided by the number of additional packets, and then by 2,
/// because transfer() returns the time of both sides.
Sample near_side(int line, pid_t far) {
  char go = 0;
  if (read(line, &go, 1) != 1) throw Error("cannot create a second network namespace");
  ip("link add cost0 type veth peer name cost1");
  ip(fmt::format("link set cost1 netns {}", far));
  ip(fmt::format("addr add {}/24 dev cost0", kNear));
  ip("link set cost0 up");
  without_offload("cost0");
  if (write(line, &go, 1) != 1 || read(line, &go, 1) != 1) fail("pipe");
  constexpr int kSmall = 1500;
  constexpr int kLarge = 9000;
  const auto at = [&](int mtu) {
    // The MTU is changed on the sending side only; the MTU of the far side is always 9000.
    ip(fmt::format("link set cost0 mtu {}", mtu));
    return transfer(line);
  };
  transfer(line);
  return sample([&] { return (at(kSmall) - at(kLarge)) / (packets(kSmall) - packets(kLarge)) / 2; },
                5);
}

/// Runs the benchmark in a separate process, so that the namespaces disappear when this process
/// ends. Writes the result to `out`.
void in_namespaces(int out) {
  alarm(kVethPatience);
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    fail("cannot create a network namespace");
  }
  std::array<int, 2> line{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line.data()) != 0) fail("socketpair");
  const auto far = fork();
  if (far == 0) {
    close(line[0]);
    alarm(kVethPatience);
    try {
      far_side(line[1]);
    } catch (const Error&) {
      _exit(1);
    }
    _exit(0);
  }
  close(line[1]);
  const auto result = [&]() -> Sample {
    try {
      return near_side(line[0], far);
    } catch (const Error&) {
      kill(far, SIGKILL);
      waitpid(far, nullptr, 0);
      throw;
    }
  }();
  kill(far, SIGKILL);
  waitpid(far, nullptr, 0);
  const char good = 1;
  if (write(out, &good, 1) != 1 || write(out, &result, sizeof result) != sizeof result) _exit(1);
}

}  // namespace

Sample bench_packet() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  std::fflush(nullptr);
  const auto pid = fork();
  if (pid == 0) {
    try {
      in_namespaces(ends[1]);
    } catch (const Error& error) {
      const char bad = 0;
      const std::string text = error.what();
      if (write(ends[1], &bad, 1) != 1 || write(ends[1], text.data(), text.size()) < 0) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> chunk{};
  for (ssize_t n; (n = read(ends[0], chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  Sample out;
  if (text.size() == 1 + sizeof out && text[0] == 1) {
    std::memcpy(&out, text.data() + 1, sizeof out);
    if (out.value > 0) return out;
    throw Error("the measurement is too noisy: the cost of a packet is not positive");
  }
  throw Error(text.size() > 1 && text[0] == 0 ? text.substr(1)
                                              : "the measuring process ended early");
}

}  // namespace iwarp::apps::cost
