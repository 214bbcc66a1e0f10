// SPDX-License-Identifier: Apache-2.0
// EventQueue: a queue of events with a descriptor that is readable exactly while events are queued.
// The program may use the descriptor like that of a kernel channel: pass it to poll(2), make it
// non-blocking, or block in the call that reads an event.
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
  /// Throws std::system_error if no descriptor can be opened.
  EventQueue() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~EventQueue() { ::close(fd_); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int fd() const { return fd_; }

  /// A list of one event. It is the memory that queueing the event needs.
  using Made = std::list<T>;

  void push(T event) {
    Made made;
    made.push_back(std::move(event));
    push_made(made);
  }

  /// Queues `made`. Does not allocate, so it cannot fail.
  void push_made(Made& made) noexcept {
    const std::lock_guard lock(mutex_);
    events_.splice(events_.end(), made, made.begin());
    const std::uint64_t one = 1;
    // Repeats the write after EINTR. It can otherwise fail only if the count has reached 2^64 - 1.
    while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  /// Removes and returns the oldest event. If there is no event, waits for one, or fails with
  /// EAGAIN if the program made the descriptor non-blocking. Fails with EINTR if the wait is
  /// interrupted by a signal whose handler was installed without SA_RESTART.
  std::expected<T, int> get() {
    const Reader reader(readers_);
    for (;;) {
      std::uint64_t count = 0;
      if (::read(fd_, &count, sizeof count) < 0) return std::unexpected(errno);
      const std::lock_guard lock(mutex_);
      // remove() or move_to() has removed the event of this count before this thread got the lock.
      if (owed_counts_ > 0) {
        --owed_counts_;
        continue;
      }
      T out = std::move(events_.front());
      events_.pop_front();
      return out;
    }
  }

  /// Returns whether a thread is in get(). A program may close a descriptor of the kernel on which
  /// another thread blocks, and that thread then blocks until the process ends. To behave in the
  /// same way, do not destroy a queue with a thread in get().
  bool is_awaited() const { return readers_.load() != 0; }

  /// Removes the events for which `gone` returns true, and their counts. Returns how many events it
  /// removed.
  template <typename Predicate>
  std::size_t remove(Predicate gone) {
    const std::lock_guard lock(mutex_);
    const auto removed = static_cast<std::size_t>(std::erase_if(events_, gone));
    for (std::size_t i = 0; i < removed; ++i) take_count();
    return removed;
  }

  /// Moves the events for which `wanted` returns true to the end of another queue. Returns how many
  /// events it moved.
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
  /// Counts a thread in get(). Its destructor also runs if the thread is cancelled.
  struct Reader {
    explicit Reader(std::atomic<int>& readers) : count(readers) { ++count; }
    ~Reader() { --count; }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    std::atomic<int>& count;
  };

  /// Reads the count of one event that is removed from the queue. A thread in get() may have read
  /// that count already and wait for the lock. owed_counts_ then tells this thread that the event
  /// of its count is gone, so that it does not take another one. Call with mutex_ held.
  void take_count() {
    if (!read_count()) ++owed_counts_;
  }

  /// Reads one count from the descriptor. Returns false if there is none. Does not block.
  bool read_count() {
    std::uint64_t count = 0;
    const iovec into{.iov_base = &count, .iov_len = sizeof count};
    if (::preadv2(fd_, &into, 1, -1, RWF_NOWAIT) >= 0) return true;
    if (errno != EOPNOTSUPP) return false;
    // The kernel does not support RWF_NOWAIT for this descriptor. If a get() reads between these
    // two calls, this read blocks until the next event.
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, 0) > 0 && ::read(fd_, &count, sizeof count) >= 0;
  }

  const int fd_;
  std::atomic<int> readers_{0};
  std::mutex mutex_;
  // Invariant while mutex_ is held: the count of the descriptor, plus the number of threads in
  // get() that have read a count and wait for the lock, equals events_.size() + owed_counts_.
  std::list<T> events_;
  std::size_t owed_counts_ = 0;
};

}  // namespace iwarp::rdma_core
