// SPDX-License-Identifier: Apache-2.0
// Measures the kernel's UDP without this stack, between two processes that busy-poll. Both use the
// same IPv4 address of this machine. A benchmark, not a test: test/bench/run compares it with UD
// queue pairs, whose addresses are also those of interfaces.
//
//   bench_udp pingpong ADDRESS SIZE SECONDS   prints {"latency": us}, the median of half a round
//                                             trip
//   bench_udp rate ADDRESS SIZE SECONDS       prints {"messages_per_second": N}: what sendmmsg()
//                                             accepts in batches of 32, while the other process
//                                             empties its socket
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBatch = 32;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

struct End {
  int socket;
  sockaddr_in at;
};

End make_end(in_addr address) {
  End out{.socket = socket(AF_INET, SOCK_DGRAM, 0),
          .at = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = address, .sin_zero = {}}};
  socklen_t length = sizeof out.at;
  if (bind(out.socket, reinterpret_cast<sockaddr*>(&out.at), length) != 0) die("bind");
  getsockname(out.socket, reinterpret_cast<sockaddr*>(&out.at), &length);
  return out;
}

void connect_to(const End& end, const End& peer) {
  if (connect(end.socket, reinterpret_cast<const sockaddr*>(&peer.at), sizeof peer.at) != 0) {
    die("connect");
  }
}

/// Receives one datagram by busy-polling. Loopback does not lose a datagram if only one is in
/// flight.
void receive_spinning(int socket, std::vector<char>& into) {
  while (recv(socket, into.data(), into.size(), MSG_DONTWAIT) < 0) {
  }
}

/// Sends each received datagram back, until the process is killed.
[[noreturn]] void send_back(int socket, std::vector<char>& message) {
  for (;;) {
    receive_spinning(socket, message);
    if (send(socket, message.data(), message.size(), 0) < 0) die("send");
  }
}

void print_latency(int socket, std::vector<char>& message, std::chrono::duration<double> time) {
  std::vector<double> took;
  const auto end = Clock::now() + time;
  while (took.empty() || Clock::now() < end) {
    const auto begin = Clock::now();
    if (send(socket, message.data(), message.size(), 0) < 0) die("send");
    receive_spinning(socket, message);
    took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / 2);
  }
  std::ranges::nth_element(took, took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2));
  std::printf("{\"latency\": %.3f}\n", took[took.size() / 2]);
}

struct Batch {
  explicit Batch(std::size_t size) : octets(size * kBatch) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces[i] = {octets.data() + i * size, size};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::vector<char> octets;
  std::array<iovec, kBatch> pieces{};
  std::array<mmsghdr, kBatch> messages{};
};

/// Receives and discards datagrams, until the process is killed.
[[noreturn]] void empty_socket(int socket, std::size_t size) {
  Batch batch(size);
  for (;;) recvmmsg(socket, batch.messages.data(), kBatch, MSG_DONTWAIT, nullptr);
}

void print_rate(int socket, std::size_t size, std::chrono::duration<double> time) {
  Batch batch(size);
  double sent = 0;
  const auto begin = Clock::now();
  while (Clock::now() < begin + time) {
    const int n = sendmmsg(socket, batch.messages.data(), kBatch, 0);
    if (n < 0) die("sendmmsg");
    sent += n;
  }
  std::printf("{\"messages_per_second\": %.0f}\n",
              sent / std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view test = argc == 5 ? argv[1] : "";
  in_addr address{};
  if ((test != "pingpong" && test != "rate") || inet_pton(AF_INET, argv[2], &address) != 1) {
    std::fputs("usage: bench_udp pingpong|rate ADDRESS SIZE SECONDS\n", stderr);
    return 2;
  }
  const auto size = static_cast<std::size_t>(std::atol(argv[3]));
  const std::chrono::duration<double> time(std::atof(argv[4]));
  const End here = make_end(address);
  const End there = make_end(address);
  connect_to(here, there);
  connect_to(there, here);
  std::vector<char> message(size);
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0 && test == "rate") empty_socket(there.socket, size);
  if (child == 0) send_back(there.socket, message);
  if (test == "rate") {
    print_rate(here.socket, size, time);
  } else {
    print_latency(here.socket, message, time);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}
