// SPDX-License-Identifier: Apache-2.0
// Handles stop signals. The signal handler only sets flags and writes to an eventfd; both are
// async-signal-safe.
#include "command_line/stop.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "command_line/error.hpp"

namespace iwarp::apps {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::rep kNotYet = 0;

std::atomic<int> event_fd{-1};
std::atomic<bool> stopped{false};
std::atomic<bool> finishes{false};
std::atomic<Clock::rep> finish_at{kNotYet};

void on_signal(int) {
  if (finishes.exchange(false)) {
    finish_at = Clock::now().time_since_epoch().count();
    return;
  }
  stopped = true;
  const int saved = errno;
  const std::uint64_t one = 1;
  // write() fails only if the eventfd's counter is full. In this case the descriptor is readable
  // already.
  [[maybe_unused]] const auto written = write(event_fd.load(), &one, sizeof(one));
  errno = saved;
}

}  // namespace

void catch_stop_signals() {
  event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0) throw Error("cannot create an eventfd: " + errno_text());
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int stop_fd() { return event_fd.load(); }

bool stop_requested() { return stopped.load(std::memory_order_relaxed); }

void finish_on_next_stop() { finishes = true; }

std::optional<Clock::time_point> finish_requested() {
  const auto at = finish_at.load(std::memory_order_relaxed);
  if (at == kNotYet) return std::nullopt;
  return Clock::time_point(Clock::duration(at));
}

}  // namespace iwarp::apps
