// SPDX-License-Identifier: Apache-2.0
// Implements rpoll() and rselect(), which accept rsockets, other descriptors, or both.
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/select.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "process/errno_table.hpp"
#include "rsockets/service/service.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

using Clock = std::chrono::steady_clock;

/// The rsocket of each polled descriptor, or null if the descriptor is not an rsocket.
using Sockets = std::vector<std::shared_ptr<Socket>>;

Sockets sockets_of(std::span<const pollfd> asked) {
  Sockets out;
  out.reserve(asked.size());
  for (const pollfd& one : asked) out.push_back(Service::get().find(one.fd));
  return out;
}

/// Returns the list of descriptors for poll(2), in which the entries of rsockets are disabled.
std::vector<pollfd> ordinary(std::span<const pollfd> asked, const Sockets& sockets) {
  std::vector<pollfd> out(asked.begin(), asked.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (sockets[i] != nullptr) out[i].fd = -1;
  }
  return out;
}

/// Polls without blocking. Returns the number of descriptors that have events. If poll(2) fails,
/// returns -1 with errno set.
int look(std::span<pollfd> asked, const Sockets& sockets) {
  auto others = ordinary(asked, sockets);
  if (::poll(others.data(), others.size(), 0) < 0) return -1;
  int out = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i].revents =
        sockets[i] != nullptr ? sockets[i]->events(asked[i].events) : others[i].revents;
    if (asked[i].revents != 0) ++out;
  }
  return out;
}

/// Registers an EventFd with the rsockets. The destructor unregisters it.
class Waiting {
 public:
  explicit Waiting(const Sockets& sockets) : sockets_(sockets) {}
  ~Waiting() {
    for (std::size_t i = 0; i < begun_; ++i) {
      if (sockets_[i] != nullptr) sockets_[i]->end_waiting(waiter_);
    }
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Returns the list of descriptors for poll(2), or nullopt if an event has already happened.
  std::optional<std::vector<pollfd>> begin(std::span<const pollfd> asked) {
    auto out = ordinary(asked, sockets_);
    for (; begun_ < out.size(); ++begun_) {
      if (sockets_[begun_] == nullptr) continue;
      const auto fd = sockets_[begun_]->begin_waiting(waiter_, asked[begun_].events);
      if (!fd) return std::nullopt;
      out[begun_] = {.fd = *fd, .events = POLLIN, .revents = 0};
    }
    out.push_back({.fd = waiter_.fd(), .events = POLLIN, .revents = 0});
    return out;
  }

 private:
  const Sockets& sockets_;
  net::EventFd waiter_;
  std::size_t begun_ = 0;
};

/// Sleeps until an event may have happened, or until the time `end`. Returns 0 or an errno.
int sleep_until(std::span<const pollfd> asked, const Sockets& sockets, net::Deadline end) {
  Waiting waiting(sockets);
  auto all = waiting.begin(asked);
  if (!all) return 0;
  const int timeout = net::milliseconds_until(end);
  return ::poll(all->data(), all->size(), timeout) < 0 ? errno : 0;
}

/// Returns the number of descriptors that have events, or a negative errno.
/// [RCM-372]
int poll(std::span<pollfd> asked, int timeout) {
  const auto begin = Clock::now();
  const auto end = net::deadline_after(std::chrono::milliseconds(timeout));
  const Sockets sockets = sockets_of(asked);
  while (true) {
    const int count = look(asked, sockets);
    if (count != 0) return count < 0 ? -errno : count;
    const auto now = Clock::now();
    if (end && now >= *end) return 0;
    if (now < begin + looking_time()) continue;
    if (const int code = sleep_until(asked, sockets, end)) return -code;
  }
}

short events_of(int fd, const fd_set* read, const fd_set* write, const fd_set* except) {
  int out = 0;
  if (read != nullptr && FD_ISSET(fd, read)) out |= POLLIN;
  if (write != nullptr && FD_ISSET(fd, write)) out |= POLLOUT;
  if (except != nullptr && FD_ISSET(fd, except)) out |= POLLPRI;
  return static_cast<short>(out);
}

/// Reduces `set` to the descriptors that have an event in `happened`. Returns the number of
/// descriptors that remain.
int keep(fd_set* set, std::span<const pollfd> polled, int wanted, int happened) {
  if (set == nullptr) return 0;
  FD_ZERO(set);
  int out = 0;
  for (const pollfd& one : polled) {
    if ((one.events & wanted) == 0 || (one.revents & happened) == 0) continue;
    FD_SET(one.fd, set);
    ++out;
  }
  return out;
}

// Implements select(2) with the function poll() above. As in the kernel, each of the three sets
// corresponds to certain events of poll(2).
int select(int limit, fd_set* read, fd_set* write, fd_set* except, const timeval* timeout) {
  std::vector<pollfd> asked;
  for (int fd = 0; fd < std::min(limit, FD_SETSIZE); ++fd) {
    const short events = events_of(fd, read, write, except);
    if (events != 0) asked.push_back({.fd = fd, .events = events, .revents = 0});
  }
  int milliseconds = -1;
  if (timeout != nullptr) {
    const auto wanted = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::seconds(timeout->tv_sec) + std::chrono::microseconds(timeout->tv_usec));
    milliseconds = static_cast<int>(std::clamp<std::int64_t>(wanted.count(), 0, INT32_MAX));
  }
  const int count = poll(asked, milliseconds);
  if (count < 0) return count;
  if (std::ranges::any_of(asked, [](auto& one) { return (one.revents & POLLNVAL) != 0; })) {
    return -EBADF;
  }
  return keep(read, asked, POLLIN, POLLIN | POLLHUP | POLLERR) +
         keep(write, asked, POLLOUT, POLLOUT | POLLERR) + keep(except, asked, POLLPRI, POLLPRI);
}

/// Calls `function`, which must return a count or a negative errno. Returns the count, or sets
/// errno and returns -1.
template <typename Function>
int counted_or_errno(Function function) noexcept {
  int count = 0;
  const int code = guarded([&] {
    count = function();
    return count < 0 ? -count : 0;
  });
  return code == 0 ? count : minus_one(code);
}

// Without memory for a Service, there is no rsocket.
bool has_rsockets() {
  return or_no_memory([] { return Service::get().has_any(); });
}

}  // namespace

extern "C" {

int rpoll(pollfd* fds, nfds_t count, int timeout) {
  if (!has_rsockets()) return ::poll(fds, count, timeout);
  return counted_or_errno([&] { return rsockets::poll(std::span(fds, count), timeout); });
}

int rselect(int limit, fd_set* read, fd_set* write, fd_set* except, timeval* timeout) {
  if (!has_rsockets()) return ::select(limit, read, write, except, timeout);
  return counted_or_errno([&] { return rsockets::select(limit, read, write, except, timeout); });
}

}  // extern "C"

}  // namespace iwarp::rdma_core::rsockets
