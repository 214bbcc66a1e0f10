// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a packet: sends the same bytes with an MTU of 1500 and of 9000, over a pair
// of virtual Ethernet devices between two network namespaces. Segmentation offload and aggregation
// are off, so that only the number of packets differs. Requires iproute2 and permission to create
// namespaces. The namespaces disappear when the processes end.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "cost/bench/measure.hpp"
#include "measure/measurement/processes.hpp"

namespace iwarp::apps::cost {

namespace {

// These addresses are reserved for documentation (RFC 5737), so no real network uses them.
constexpr const char* kNear = "192.0.2.1";
constexpr const char* kFar = "192.0.2.2";
constexpr std::uint64_t kMessage = 64 << 10;
constexpr std::uint64_t kMessages = 768;
constexpr double kHeaders = 52;  // size of the IP and TCP headers, including timestamps

[[noreturn]] void fail(const std::string& what) { throw Error(what + ": " + errno_text()); }

void ip(const std::string& arguments) {
  const auto command = "ip " + arguments + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) throw Error("\"ip " + arguments + "\" failed");
}

/// Disables segmentation offload and aggregation on the device, so that the network stack processes
/// each packet separately.
void without_offload(const char* device) {
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

/// Brings up one end of the pair in the namespace of this process.
void set_up(const char* device, const char* address) {
  ip(fmt::format("addr add {}/24 dev {}", address, device));
  ip(fmt::format("link set {} mtu 9000 up", device));
  without_offload(device);
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
/// small packets, divided by the number of additional packets, and then by 2.
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
  const measure::Process server([&] { return serve(listener); });
  if (setns(near.get(), CLONE_NEWNET) != 0) fail("cannot enter the first network namespace");
  set_up("cost0", kNear);
  const auto plan = plan_of({.size = kMessage, .messages = kMessages, .cpus = "any"});
  const auto transfer = [&](int mtu) {
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

Sample bench_packet() {
  const auto out = apart(between_namespaces);
  if (out.value > 0) return out;
  throw Error("the measurement is too noisy: the cost of a packet is not positive");
}

}  // namespace iwarp::apps::cost
