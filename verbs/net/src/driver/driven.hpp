// SPDX-License-Identifier: Apache-2.0
// Driven: an object that has sockets and feeds a completion queue, as the feed of the queue sees
// it: a connection or a datagram queue pair.
#pragma once

#include <atomic>
#include <memory>

namespace iwarp::net {

class SocketSet;

class Driven {
 public:
  // For polls of an empty queue:
  /// Receives and sends as much as possible without waiting. `frequent`: more polls will follow, so
  /// the worker thread sleeps until let_go().
  virtual void poll(bool frequent) = 0;
  /// As poll(), for a caller that knows what the socket is ready for. Returns whether there was
  /// input; also true if another thread is driving, which may have taken it.
  virtual bool polled(bool readable, bool room) = 0;
  // For threads that sleep on the socket:
  /// A thread sleeps on the socket: the worker thread is not woken until let_go().
  virtual void sleep_on() = 0;
  /// As polled(), for a thread that the socket has woken.
  virtual bool ready(bool readable, bool room) = 0;
  /// The application no longer polls or sleeps on the socket: the worker takes over.
  virtual void let_go() = 0;
  /// Adds the socket to `set`, which reports when the socket is ready, as long as is_plain() is
  /// true.
  virtual void join(std::shared_ptr<SocketSet> set) = 0;
  virtual void leave(const SocketSet* set) = 0;
  /// Returns whether a set reports all that the object waits for: input, and perhaps room to send.
  virtual bool is_plain() const = 0;
  /// Returns whether only a set can say what the socket is ready for, because it also waits for
  /// room to send, for example.
  virtual bool is_blocked() const = 0;
  /// Sends the posts that are held back to be coalesced: the application polls, or is about to
  /// sleep.
  virtual void flush_posts() = 0;
  // For calls that take away what posted requests need:
  /// Returns whether a request posted before this call may not have been given to the socket yet.
  virtual bool may_hold_posts() const = 0;
  /// Returns when the requests posted before this call have been sent, as far as the socket accepts
  /// them. Waits for the lock.
  virtual void sync() = 0;
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // For the time during which the application has a descriptor that is readable when the socket is.
  // One call per feed.
  /// From now on, the object notes in its sets that it has taken input from the socket.
  void expose() { exposed_.fetch_add(1); }
  void conceal() { exposed_.fetch_sub(1); }
  /// With two completion queues on one connection, alternate polls share one call to the socket.
  /// Returns false if the poll of the other queue has just found the socket empty.
  bool asks_for(const void* queue) {
    const void* const last = asked_for_.load(std::memory_order_relaxed);
    const bool is_others = last != nullptr && last != queue;
    const void* const next = is_others ? nullptr : queue;
    if (last != next) asked_for_.store(next, std::memory_order_relaxed);
    return !is_others;
  }

 protected:
  ~Driven() = default;

  /// The socket had input, so the next poll of either queue asks it again.
  void octets_came() {
    asked_for_.store(nullptr, std::memory_order_relaxed);
    if (is_exposed()) note_taken();
  }
  bool is_exposed() const { return exposed_.load(std::memory_order_relaxed) != 0; }
  /// Calls SocketSet::note_taken() of each of its sets.
  virtual void note_taken() = 0;

  std::atomic<bool> ended_{false};

 private:
  std::atomic<const void*> asked_for_{nullptr};
  std::atomic<int> exposed_{0};
};

}  // namespace iwarp::net
