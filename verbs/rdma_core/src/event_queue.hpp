// SPDX-License-Identifier: Apache-2.0
// Events behind a descriptor that the program may use as it does those of the kernel: poll(2) it,
// make it non-blocking, or block in get(). It is readable exactly while events are queued.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <expected>
#include <list>
#include <mutex>
#include <system_error>
#include <utility>

namespace iwarp::rdma_core {

template <typename T>
class EventQueue {
 public:
  /// Throws std::system_error when there is no descriptor to be had.
  EventQueue() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~EventQueue() { ::close(fd_); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int fd() const { return fd_; }

  /// One event, with the memory to queue it.
  using Made = std::list<T>;

  void push(T event) {
    Made made;
    made.push_back(std::move(event));
    push_made(made);
  }

  /// As push(), and does not fail.
  void push_made(Made& made) noexcept {
    const std::lock_guard lock(mutex_);
    events_.splice(events_.end(), made, made.begin());
    const std::uint64_t one = 1;
    // Fails only at 2^64 - 1 counts.
    while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  /// The oldest event; waits for it unless the program made the descriptor non-blocking. Otherwise
  /// an errno: EAGAIN, or EINTR when a signal handler wants system calls to be interrupted.
  std::expected<T, int> get() {
    const Reader reader(readers_);
    for (;;) {
      std::uint64_t count = 0;
      if (::read(fd_, &count, sizeof count) < 0) return std::unexpected(errno);
      const std::lock_guard lock(mutex_);
      if (events_.empty()) continue;  // It was removed between the read and the lock.
      T out = std::move(events_.front());
      events_.pop_front();
      return out;
    }
  }

  /// A thread is in get(). With the kernel's descriptors programs may close what another thread
  /// blocks on, which then blocks until the process ends: such a queue has to be left as it is.
  bool is_awaited() const { return readers_.load() != 0; }

  /// Takes the events for which `gone` says yes back, counts included.
  template <typename Predicate>
  std::size_t remove(Predicate gone) {
    const std::lock_guard lock(mutex_);
    const auto removed = static_cast<std::size_t>(std::erase_if(events_, gone));
    for (std::size_t i = 0; i < removed; ++i) take_count();
    return removed;
  }

  /// Moves the events for which `wanted` says yes to the end of another queue; how many.
  template <typename Predicate>
  std::size_t move_to(EventQueue& other, Predicate wanted) {
    Made moved;
    {
      const std::lock_guard lock(mutex_);
      for (auto it = events_.begin(); it != events_.end();) {
        const auto event = it++;
        if (wanted(*event)) moved.splice(moved.end(), events_, event);
      }
      for (std::size_t i = 0; i < moved.size(); ++i) take_count();
    }
    const std::size_t count = moved.size();
    while (!moved.empty()) other.push_made(moved);
    return count;
  }

 private:
  /// Counts a thread, also when it is cancelled.
  struct Reader {
    explicit Reader(std::atomic<int>& readers) : count(readers) { ++count; }
    ~Reader() { --count; }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    std::atomic<int>& count;
  };

  // Never blocks: somebody in get() may have taken the count already, and finds nothing then.
  void take_count() {
    std::uint64_t count = 0;
    const iovec into{.iov_base = &count, .iov_len = sizeof count};
    if (::preadv2(fd_, &into, 1, -1, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP) return;
    // A kernel without it: between these two calls a get() may slip in, and this one then waits
    // for the next event.
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 0) > 0) [[maybe_unused]]
      const auto n = ::read(fd_, &count, sizeof count);
  }

  const int fd_;
  std::atomic<int> readers_{0};
  std::mutex mutex_;
  std::list<T> events_;
};

}  // namespace iwarp::rdma_core
