// SPDX-License-Identifier: Apache-2.0
// The runs of the load test.
#include "load.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>

#include "command_line/child.hpp"
#include "ends.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::load {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

/// Runs the passive end in a separate process.
class Server {
 public:
  explicit Server(std::size_t slots) {
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    shared_ = new (memory) Shared;
    child_.emplace([&] {
      serve(*shared_, slots);
      return 0;
    });
    process_ = net::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child_->pid(), 0)));
    while (shared_->port == 0) pause();
  }

  Shared& shared() { return *shared_; }
  /// Waits until the passive end has taken a new sample of its usage, and returns that sample.
  Usage sample() {
    const auto before = shared_->samples.load();
    while (shared_->samples < before + 2) pause();
    return {.memory = shared_->memory, .descriptors = shared_->descriptors};
  }
  void stop() {
    shared_->stop = true;
    if (child_->wait().status != 0) throw std::runtime_error("the passive end failed");
  }

 private:
  // Waits for 5 ms. Throws if the process ends.
  void pause() {
    pollfd end{.fd = process_.get(), .events = POLLIN, .revents = 0};
    if (poll(&end, 1, 5) <= 0) return;
    throw std::runtime_error("the passive end has ended");
  }
  Shared* shared_ = nullptr;
  std::optional<apps::Child> child_;
  net::UniqueFd process_;
};

// A process may have this many more descriptors open than before without a leak: some serve all
// connections together, and others are just being closed.
constexpr std::size_t kDescriptorSlack = 8;

double kib(std::size_t octets) { return static_cast<double>(octets) / 1024; }

void connect_all(Client& client, std::size_t n, std::size_t at_once) {
  for (std::size_t i = 0; i < n; ++i) {
    client.connect();
    while (client.connecting() >= at_once) client.take_events(std::chrono::seconds(30));
  }
  client.settle();
  if (client.failed() != 0)
    throw std::runtime_error(fmt::format("{} of {} were not connected", client.failed(), n));
}

void close_all(Client& client) {
  for (auto* connection : client.established()) client.close(*connection);
}

// Lets outstanding operations finish without starting new ones.
void come_to_rest(Client& client, Latencies& latencies) {
  client.rest();
  unsigned quiet = 0;
  while (quiet < 10)
    quiet = client.take_completions(latencies, milliseconds(20)) == 0 ? quiet + 1 : 0;
}

// Prints a row, and returns the memory of a connection in KiB.
double per_connection(const char* end, const Usage& before, const Usage& now, std::size_t n) {
  const double memory = (kib(now.memory) - kib(before.memory)) / static_cast<double>(n);
  fmt::print("{:<10}{:>10.1f} MiB{:>14.2f} KiB{:>14.2f}\n", end, kib(now.memory) / 1024, memory,
             (static_cast<double>(now.descriptors) - static_cast<double>(before.descriptors)) /
                 static_cast<double>(n));
  return memory;
}

}  // namespace

int hold(const Options& o) {
  raise_descriptors(o.connections + 1024);
  Server server(o.active);
  Client client(server.shared(), o.active);
  // Makes and closes one connection in advance, because memory that the process allocates only for
  // its first connection is not a leak.
  connect_all(client, 1, 1);
  close_all(client);
  while (server.shared().open != 0) client.take_events(milliseconds(10));
  const auto active_before = usage();
  const auto passive_before = server.sample();
  const auto tcp_before = tcp_memory();
  const auto start = Clock::now();
  connect_all(client, o.connections, o.at_once);
  const Seconds took = Clock::now() - start;
  fmt::print("{} connections in {:.1f} s, {:.0f} a second\n\n", o.connections, took.count(),
             static_cast<double>(o.connections) / took.count());
  fmt::print("{:<10}{:>14}{:>18}{:>14}\n", "idle", "in use", "a connection", "descriptors");
  const double active_idle = per_connection("active", active_before, usage(), o.connections);
  const double passive_idle =
      per_connection("passive", passive_before, server.sample(), o.connections);
  fmt::print("{:<10}{:>14}{:>14.2f} KiB\n\n", "TCP", "",
             (kib(tcp_memory()) - kib(tcp_before)) / static_cast<double>(o.connections));

  auto working = client.established();
  working.resize(std::min(working.size(), o.active));
  for (auto* connection : working) client.work(*connection);
  Latencies latencies;
  const auto begun = Clock::now();
  const Seconds wanted(o.seconds);
  while (Clock::now() - begun < wanted) client.take_completions(latencies, milliseconds(50));
  const Seconds worked = Clock::now() - begun;
  fmt::print(
      "{} of them at work for {:.1f} s: {:.0f} operations a second, p50 {:.0f} us, p99 {:.0f} "
      "us\n\n",
      working.size(), worked.count(), static_cast<double>(latencies.count()) / worked.count(),
      us(latencies, 0.5), us(latencies, 0.99));
  fmt::print("{:<10}{:>14}{:>18}{:>14}\n", "at work", "in use", "a connection", "descriptors");
  per_connection("active", active_before, usage(), o.connections);
  per_connection("passive", passive_before, server.sample(), o.connections);
  come_to_rest(client, latencies);

  const auto closing = Clock::now();
  close_all(client);
  while (server.shared().open != 0) client.take_events(milliseconds(10));
  const Seconds closed = Clock::now() - closing;
  const auto active_after = usage();
  const auto passive_after = server.sample();
  server.stop();
  const bool given_back =
      active_after.descriptors <= active_before.descriptors + kDescriptorSlack &&
      passive_after.descriptors <= passive_before.descriptors + kDescriptorSlack;
  fmt::print(
      "\nclosed in {:.1f} s; descriptors before and after: active {} and {}, passive {} and {}; "
      "in use still: active {:.1f} MiB, passive {:.1f} MiB\n",
      closed.count(), active_before.descriptors, active_after.descriptors,
      passive_before.descriptors, passive_after.descriptors, kib(active_after.memory) / 1024,
      kib(passive_after.memory) / 1024);
  if (!given_back) fmt::print("DESCRIPTORS ARE LEFT OPEN\n");
  const bool small = o.limit == 0 || std::max(active_idle, passive_idle) <= o.limit;
  if (!small) fmt::print("AN IDLE CONNECTION TAKES MORE THAN {} KiB\n", o.limit);
  return given_back && small ? 0 : 1;
}

int rate(const Options& o) {
  raise_descriptors(16'384);
  Server server(1);
  Client client(server.shared(), 1);
  Latencies latencies;
  client.on_connected = [&](Connection& connection, bool established) {
    if (!established) return;
    latencies.add(Clock::now() - connection.since);
    client.close(connection);
  };
  const auto start = Clock::now();
  const auto own = processor_time();
  const auto theirs = server.shared().processor_ms.load();
  const Seconds wanted(o.seconds);
  while (Clock::now() - start < wanted) {
    while (client.connecting() < o.at_once) client.connect();
    client.take_events(milliseconds(50));
  }
  client.settle();
  const Seconds took = Clock::now() - start;
  const double used = (processor_time() - own).count();
  server.sample();
  const double passive = static_cast<double>(server.shared().processor_ms - theirs) / 1000;
  const auto n = static_cast<double>(latencies.count());
  fmt::print(
      "{:.0f} connections in {:.1f} s, each closed once established, {} under way at a time\n"
      "{:.0f} a second; {} failed; p50 {:.1f} ms, p99 {:.1f} ms\n"
      "processor time of one: active end {:.0f} us, passive end {:.0f} us: "
      "{:.0f} a second for each processor\n",
      n, took.count(), o.at_once, n / took.count(), client.failed(), us(latencies, 0.5) / 1000,
      us(latencies, 0.99) / 1000, used / n * 1e6, passive / n * 1e6, n / (used + passive));
  while (server.shared().open != 0) client.take_events(milliseconds(10));
  server.stop();
  return client.failed() == 0 ? 0 : 1;
}

namespace {

// --- The soak: many connections work for a long time. ---

struct Sample {
  Usage active;
  Usage passive;
  double p99 = 0;
};

// Returns whether the maximum of the last third of the samples exceeds the maximum of the first
// third by at most 5 % plus `slack`.
template <typename Value>
bool flat(const std::vector<Sample>& samples, std::size_t slack, Value value) {
  const auto third = samples.size() / 3;
  const auto largest = [&](auto from, auto to) {
    std::size_t out = 0;
    for (auto it = from; it != to; ++it) out = std::max(out, value(*it));
    return out;
  };
  const auto first = largest(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(third));
  const auto last = largest(samples.end() - static_cast<std::ptrdiff_t>(third), samples.end());
  return last <= first + first / 20 + slack;
}

void print(const Sample& s, const Latencies& latencies, double seconds, std::uint64_t octets,
           std::size_t reconnects) {
  fmt::print("{:>8.0f}{:>12}{:>10.1f}{:>10.0f}{:>10.0f}{:>14.2f}{:>14.2f}{:>8}{:>8}{:>12}\n",
             seconds, latencies.count(), static_cast<double>(octets) / 1e6, us(latencies, 0.5),
             s.p99, kib(s.active.memory) / 1024, kib(s.passive.memory) / 1024, s.active.descriptors,
             s.passive.descriptors, reconnects);
  std::fflush(stdout);
}

// Returns the median of the samples' p99 latencies, in us.
double middle(std::span<const Sample> samples) {
  std::vector<double> values;
  for (const Sample& s : samples) values.push_back(s.p99);
  std::ranges::sort(values);
  return values[values.size() / 2];
}

bool judge(const std::vector<Sample>& samples) {
  constexpr std::size_t kMemorySlack = std::size_t{2} << 20;
  const bool memory =
      flat(samples, kMemorySlack, [](const Sample& s) { return s.active.memory; }) &&
      flat(samples, kMemorySlack, [](const Sample& s) { return s.passive.memory; });
  const bool descriptors =
      flat(samples, kDescriptorSlack, [](const Sample& s) { return s.active.descriptors; }) &&
      flat(samples, kDescriptorSlack, [](const Sample& s) { return s.passive.descriptors; });
  const auto third = samples.size() / 3;
  fmt::print("memory {}, descriptors {}; p99 of the first third {:.0f} us, of the last {:.0f} us\n",
             memory ? "flat" : "GROWS", descriptors ? "flat" : "GROW",
             middle(std::span(samples).first(third)), middle(std::span(samples).last(third)));
  return memory && descriptors;
}

// Replaces one connection by a new one, and registers and deregisters memory, unless another
// connection is being set up.
void reconnect(Client& client, std::vector<std::byte>& scratch, std::size_t turn) {
  if (client.connecting() != 0) return;
  auto* const old = client.any_established(turn);
  if (old == nullptr) return;
  client.close(*old);
  client.connect();
  auto region = must(client.rnic->register_memory(
      *client.pd, std::span(scratch).first(4096 * (1 + turn % 16)), verbs::Access::kRemoteRead));
  must(region.deregister());
}

}  // namespace

int soak(const Options& o) {
  raise_descriptors(o.connections + 4096);
  Server server(2 * o.connections);
  Client client(server.shared(), 2 * o.connections);
  connect_all(client, o.connections, o.at_once);
  for (auto* connection : client.established()) client.work(*connection);
  std::vector<std::byte> scratch(std::size_t{16} * 4096);
  std::size_t reconnects = 0;
  client.on_connected = [&](Connection& connection, bool established) {
    if (established) client.work(connection);
    ++reconnects;
  };
  fmt::print("{:>8}{:>12}{:>10}{:>10}{:>10}{:>14}{:>14}{:>8}{:>8}{:>12}\n", "s", "operations", "MB",
             "p50 us", "p99 us", "active MiB", "passive MiB", "fds", "fds", "reconnects");
  std::vector<Sample> samples;
  Latencies latencies;
  const auto start = Clock::now();
  auto next_reconnect = start;
  std::uint64_t octets = 0;
  std::size_t operations = 0;
  for (std::size_t turn = 0; samples.size() < o.samples;) {
    const auto now = Clock::now();
    const double elapsed = Seconds(now - start).count();
    if (o.pace != 0 && static_cast<double>(operations) > o.pace * elapsed) {
      client.take_events(milliseconds(2));
    } else {
      operations += client.take_completions(latencies, milliseconds(20));
      client.take_events(milliseconds(0));
    }
    if (now >= next_reconnect) {
      next_reconnect = now + milliseconds(20);
      reconnect(client, scratch, turn++);
    }
    if (elapsed < o.seconds * static_cast<double>(samples.size() + 1) / o.samples) continue;
    samples.push_back(
        {usage(), {server.shared().memory, server.shared().descriptors}, us(latencies, 0.99)});
    print(samples.back(), latencies, elapsed, client.octets() - octets, reconnects);
    octets = client.octets();
    latencies = {};
  }
  come_to_rest(client, latencies);
  const bool is_flat = judge(samples);
  if (client.failed() != 0) fmt::print("{} FAILED TO CONNECT\n", client.failed());
  close_all(client);
  server.stop();
  return is_flat && client.failed() == 0 ? 0 : 1;
}

}  // namespace iwarp::load
