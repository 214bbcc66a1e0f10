// SPDX-License-Identifier: Apache-2.0
// Driven: the interface through which the feed of a completion queue uses a connection or a
// datagram queue pair.
#pragma once

#include <atomic>
#include <memory>

namespace iwarp::net {

class SocketSet;

class Driven {
 public:
  // The next two functions are for polls of an empty completion queue.
  /// Receives and sends as much as possible without waiting. If `frequent`, more polls will follow,
  /// so the worker thread sleeps until let_go().
  virtual void poll(bool frequent) = 0;
  /// Does the same as poll(), for a caller that knows what the socket is ready for. Returns true if
  /// there was input, or if another thread is driving, because that thread may have read input.
  virtual bool polled(bool readable, bool room) = 0;
  // The next three functions are for threads that sleep on the socket.
  /// Call when a thread starts to sleep on the socket. Until let_go(), the socket does not wake the
  /// worker thread.
  virtual void sleep_on() = 0;
  /// Does the same as polled(), for a thread that the socket has woken.
  virtual bool ready(bool readable, bool room) = 0;
  /// Gives the socket back to the worker. Call when the application no longer polls, and no longer
  /// sleeps on the socket.
  virtual void let_go() = 0;
  /// Adds the socket to `set`. As long as is_plain() is true, the set reports when the socket is
  /// ready.
  virtual void join(std::shared_ptr<SocketSet> set) = 0;
  virtual void leave(const SocketSet* set) = 0;
  /// Returns whether the object waits only for events that a SocketSet reports: input, and possibly
  /// room to send.
  virtual bool is_plain() const = 0;
  /// Returns whether a wake-up does not imply input: the thread must query the set, for example
  /// because the socket may have become writable instead.
  virtual bool is_blocked() const = 0;
  /// Sends the posts that were held back so that they can be sent together. Call when the
  /// application polls or is about to sleep.
  virtual void flush_posts() = 0;
  // The next two functions are called before an operation that removes memory or access rights that
  // posted requests need.
  /// Returns whether a request posted before this call may still have to be passed to the socket.
  virtual bool may_hold_posts() const = 0;
  /// Sends the requests that were posted before this call, as far as the socket accepts them, and
  /// then returns. Waits for the lock.
  virtual void sync() = 0;
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  /// From now on, until conceal(), the object calls note_taken() of its sets whenever it has read
  /// input from the socket. A feed calls expose() when the application gets a descriptor that is
  /// readable while the socket is readable.
  void expose() { exposed_.fetch_add(1); }
  void conceal() { exposed_.fetch_sub(1); }
  /// Returns false if the last poll was for the other completion queue of this object and found the
  /// socket empty. Then the poll for `queue` needs no system call. So if an application polls two
  /// queues alternately, two polls cost one system call.
  bool asks_for(const void* queue) {
    const void* const last = asked_for_.load(std::memory_order_relaxed);
    const bool is_others = last != nullptr && last != queue;
    const void* const next = is_others ? nullptr : queue;
    if (last != next) asked_for_.store(next, std::memory_order_relaxed);
    return !is_others;
  }

 protected:
  ~Driven() = default;

  /// Call after input has been read from the socket. The next poll of either queue then reads the
  /// socket again.
  void note_input() {
    asked_for_.store(nullptr, std::memory_order_relaxed);
    if (is_exposed()) note_taken();
  }
  bool is_exposed() const { return exposed_.load(std::memory_order_relaxed) != 0; }
  /// Calls SocketSet::note_taken() of each set that contains the socket.
  virtual void note_taken() = 0;

  std::atomic<bool> ended_{false};

 private:
  std::atomic<const void*> asked_for_{nullptr};
  std::atomic<int> exposed_{0};
};

}  // namespace iwarp::net
