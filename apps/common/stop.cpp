// SPDX-License-Identifier: Apache-2.0
// Stop signals. The handler only writes to an eventfd, which is safe in a signal handler.
#include "common/stop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "common/error.hpp"

namespace iwarp::apps {

namespace {

std::atomic<int> event_fd{-1};

void on_signal(int) {
  const int saved = errno;
  const std::uint64_t one = 1;
  // The only way to fail is a full counter, and then the descriptor is readable already.
  [[maybe_unused]] const auto written = write(event_fd.load(), &one, sizeof(one));
  errno = saved;
}

}  // namespace

void catch_stop_signals() {
  event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0) throw Error("cannot make an eventfd: " + errno_text());
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int stop_fd() { return event_fd.load(); }

bool stop_requested() {
  pollfd wait{.fd = stop_fd(), .events = POLLIN, .revents = 0};
  return wait.fd >= 0 && poll(&wait, 1, 0) > 0;
}

}  // namespace iwarp::apps
