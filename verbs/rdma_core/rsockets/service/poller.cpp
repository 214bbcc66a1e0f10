// SPDX-License-Identifier: Apache-2.0
// Implements repoll_create(), repoll_ctl() and repoll_wait(), which wait for rsockets and other
// descriptors as epoll(7) does. The headers of rdma-core before 65 do not declare them.
#include "rsockets/service/poller.hpp"

#include <fcntl.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

#include "process/errno_table.hpp"
#include "rsockets/service/service.hpp"

namespace iwarp::rdma_core::rsockets {

int Poller::update(int operation, int fd, const epoll_event* event) {
  const auto it = std::ranges::find(watched_, fd, &Watched::fd);
  const bool is_known = it != watched_.end();
  switch (operation) {
    case EPOLL_CTL_ADD:
      if (is_known) return EEXIST;
      watched_.push_back({fd, *event, false});
      return 0;
    case EPOLL_CTL_MOD:
      if (!is_known) return ENOENT;
      *it = {fd, *event, false};
      return 0;
    case EPOLL_CTL_DEL:
      if (!is_known) return ENOENT;
      watched_.erase(it);
      return 0;
    default:
      return EINVAL;
  }
}

int Poller::change(int operation, int fd, const epoll_event* event) {
  if (::fcntl(fd, F_GETFD) < 0) return EBADF;
  if (event == nullptr && operation != EPOLL_CTL_DEL) return EFAULT;
  const std::lock_guard lock(mutex_);
  if (closed_) return EBADF;
  const int code = fd != number_.get() ? update(operation, fd, event) : EINVAL;
  if (code == 0) wake();
  return code;
}

int Poller::collect(std::span<const pollfd> polled, std::span<epoll_event> out) {
  std::size_t count = 0;
  std::size_t seen = 0;
  for (; seen < polled.size() && count < out.size(); ++seen) {
    Watched& one = watched_[seen];
    const int events = polled[seen].revents & ~POLLNVAL;
    if (events == 0) continue;
    out[count++] = {.events = static_cast<std::uint32_t>(events), .data = one.wanted.data};
    one.disabled = (one.wanted.events & EPOLLONESHOT) != 0;
  }
  // The next call begins with the descriptors for which there was no room.
  std::ranges::rotate(watched_, watched_.begin() + static_cast<std::ptrdiff_t>(seen));
  for (const pollfd& one : polled) {
    if ((one.revents & POLLNVAL) != 0)
      std::erase_if(watched_, [&](auto& w) { return w.fd == one.fd; });
  }
  // What other threads poll now has another order, or descriptors that this call has disabled.
  wake();
  return static_cast<int>(count);
}

// [RCM-393]
std::expected<int, int> Poller::wait(std::span<epoll_event> out, int timeout) {
  const auto end = net::deadline_after(std::chrono::milliseconds(timeout));
  net::EventFd waiter;
  std::unique_lock lock(mutex_);
  waiters_.push_back(&waiter);
  // Runs while the mutex is locked, also after an exception.
  const auto unregister = [this](net::EventFd* gone) { std::erase(waiters_, gone); };
  const std::unique_ptr<net::EventFd, decltype(unregister)> registered(&waiter, unregister);
  std::expected<int, int> result = 0;
  while (!closed_) {
    std::vector<pollfd> asked;
    asked.reserve(watched_.size() + 1);
    for (const Watched& one : watched_) {
      asked.push_back({.fd = one.disabled ? -1 : one.fd,
                       .events = static_cast<short>(one.wanted.events),
                       .revents = 0});
    }
    asked.push_back({.fd = waiter.fd(), .events = POLLIN, .revents = 0});
    lock.unlock();
    const int count = rpoll(asked.data(), asked.size(), net::milliseconds_until(end));
    const int code = count < 0 ? errno : 0;
    lock.lock();
    asked.pop_back();
    if (code != 0) result = std::unexpected(code);
    if (count <= 0) break;
    // The waiter tells that watched_ differs from `asked`.
    if (waiter.take()) continue;
    result = collect(asked, out);
    if (*result != 0) break;
  }
  return closed_ ? std::unexpected(EBADF) : result;
}

void Poller::wake() {
  for (net::EventFd* const waiter : waiters_) waiter->signal();
}

void Poller::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  number_.reset();
  wake();
}

extern "C" {

int repoll_create(int flags) {
  if ((flags & ~EPOLL_CLOEXEC) != 0) return minus_one(EINVAL);
  int made = -1;
  const int code = guarded([&] { made = Service::get().make_poller(); });
  return code == 0 ? made : minus_one(code);
}

int repoll_ctl(int number, int operation, int fd, epoll_event* event) {
  const int code = guarded([&] {
    const auto poller = Service::get().find_poller(number);
    return poller != nullptr ? poller->change(operation, fd, event) : EBADF;
  });
  return code == 0 ? 0 : minus_one(code);
}

int repoll_wait(int number, epoll_event* events, int most, int timeout) {
  if (most <= 0) return minus_one(EINVAL);
  int count = 0;
  const int code = guarded([&] {
    const auto poller = Service::get().find_poller(number);
    if (poller == nullptr) return EBADF;
    const auto result = poller->wait(std::span(events, static_cast<std::size_t>(most)), timeout);
    count = result.value_or(0);
    return result ? 0 : result.error();
  });
  return code == 0 ? count : minus_one(code);
}

}  // extern "C"

}  // namespace iwarp::rdma_core::rsockets
