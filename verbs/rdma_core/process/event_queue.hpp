// SPDX-License-Identifier: Apache-2.0
// EventQueue: a queue of events with a file descriptor that is readable only while events are
// queued. The program may use the descriptor like the descriptor of a kernel channel: pass it to
// poll(2), make it non-blocking, or block in the call that reads an event.
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

#include "process/settings.hpp"

namespace iwarp::rdma_core {

template <typename T>
class EventQueue {
 public:
  /// Opens the file descriptor. Throws std::system_error if that fails.
  /// [RCM-7, RCM-8]
  EventQueue() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    if (const int high = high_duplicate(fd_); high >= 0) ::close(std::exchange(fd_, high));
  }
  ~EventQueue() {
    if (fd_ >= 0) ::close(fd_);
  }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int fd() const { return fd_; }

  /// A list of one event. The list node is the only memory that queueing the event needs, so it can
  /// be allocated in advance.
  using Made = std::list<T>;

  void push(T event) {
    Made made;
    made.push_back(std::move(event));
    push_made(made);
  }

  /// Queues the event in `made`. Does not allocate memory, so it cannot fail.
  /// [RCM-10, RCM-11, RCM-16]
  void push_made(Made& made) noexcept {
    const std::lock_guard lock(mutex_);
    events_.splice(events_.end(), made, made.begin());
    const std::uint64_t one = 1;
    // Repeats the write after EINTR. A write can fail for another reason only if the count has
    // reached 2^64 - 1.
    while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  /// Removes and returns the oldest event. If no event is queued, waits for one, or fails with
  /// EAGAIN if the program has made the descriptor non-blocking. Fails with EINTR if a signal
  /// interrupts the wait, and the handler of this signal was installed without SA_RESTART.
  /// [RCM-12, RCM-13, RCM-15]
  /// [IBV-594, IBV-595, IBV-596]
  std::expected<T, int> get() {
    const Reader reader(readers_);
    while (is_closed_) ::pause();
    for (;;) {
      std::uint64_t count = 0;
      if (::read(fd_, &count, sizeof count) < 0) return std::unexpected(errno);
      const std::lock_guard lock(mutex_);
      // If owed_counts_ is not 0, remove() or move_to() has removed an event after this thread
      // decremented the descriptor's count, and before the thread got the lock. So no event is left
      // for this thread, which reads the descriptor again.
      if (owed_counts_ > 0) {
        --owed_counts_;
        continue;
      }
      T out = std::move(events_.front());
      events_.pop_front();
      return out;
    }
  }

  /// Closes the descriptor, unless a thread is in get(). That thread stays blocked until the
  /// process ends, as if the program had closed one of the kernel's event channels, and so does a
  /// thread that calls get() later. [RCM-17, RCM-18]
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    // A thread that has entered get() and is not counted yet finds is_closed_ set.
    if (!is_awaited()) ::close(std::exchange(fd_, -1));
  }

  /// Returns whether a thread is in get(). If it returns true, do not destroy the queue.
  bool is_awaited() const { return readers_.load() != 0; }

  /// Removes the events for which `gone` returns true, and subtracts them from the count of the
  /// descriptor. Returns the number of events that were removed. [IBV-598]
  template <typename Predicate>
  std::size_t remove(Predicate gone) {
    const std::lock_guard lock(mutex_);
    const auto removed = static_cast<std::size_t>(std::erase_if(events_, gone));
    for (std::size_t i = 0; i < removed; ++i) take_count();
    return removed;
  }

  /// Removes the events for which `wanted` returns true, and appends them to the queue `other`.
  /// Returns the number of events that were moved.
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
  /// Counts a thread as a reader while it is in get(). The destructor also runs if the thread is
  /// cancelled.
  struct Reader {
    explicit Reader(std::atomic<int>& readers) : count(readers) { ++count; }
    ~Reader() { --count; }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    std::atomic<int>& count;
  };

  /// Decrements the count of the descriptor, because an event was removed from the queue. If the
  /// count is 0, a thread in get() has already decremented the count for the removed event and is
  /// waiting for mutex_. In that case, increments owed_counts_, so that the thread in get() does
  /// not take another event in place of the removed one. Call with mutex_ locked.
  void take_count() {
    if (!read_count()) ++owed_counts_;
  }

  /// Reads the descriptor once, which subtracts 1 from its count. Returns false if the count is 0.
  /// Does not block.
  bool read_count() {
    std::uint64_t count = 0;
    const iovec into{.iov_base = &count, .iov_len = sizeof count};
    if (::preadv2(fd_, &into, 1, -1, RWF_NOWAIT) >= 0) return true;
    if (errno != EOPNOTSUPP) return false;
    // The kernel does not support RWF_NOWAIT for this descriptor. If a thread in get() decrements
    // the count to 0 between the poll() and the read() below, this read() blocks until the next
    // event.
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, 0) > 0 && ::read(fd_, &count, sizeof count) >= 0;
  }

  int fd_;  ///< -1 after close(); changed only while no thread is in get()
  std::atomic<bool> is_closed_{false};
  std::atomic<int> readers_{0};
  std::mutex mutex_;
  // Invariant while mutex_ is locked: the count of the descriptor, plus the number of threads in
  // get() that have decremented the count and are waiting for the lock, equals events_.size() +
  // owed_counts_.
  std::list<T> events_;
  std::size_t owed_counts_ = 0;
};

}  // namespace iwarp::rdma_core
