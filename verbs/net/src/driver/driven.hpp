// SPDX-License-Identifier: Apache-2.0
// Driven: a connection or a datagram queue pair, through the interface that the feed of its
// completion queue uses.
#pragma once

#include <atomic>
#include <memory>

namespace iwarp::net {

class SocketSet;

class Driven {
 public:
  // Calls for polls of an empty completion queue:
  /// Receives and sends as much as possible without waiting. `frequent`: more polls will follow, so
  /// the worker thread sleeps until let_go().
  virtual void poll(bool frequent) = 0;
  /// Does the same as poll(), for a caller that knows what the socket is ready for. Returns whether
  /// there was input, or another thread is driving, which may have taken the input.
  virtual bool polled(bool readable, bool room) = 0;
  // Calls for threads that sleep on the socket:
  /// Call when a thread starts to sleep on the socket: the socket does not wake the worker thread
  /// until let_go().
  virtual void sleep_on() = 0;
  /// Does the same as polled(), for a thread that the socket has woken.
  virtual bool ready(bool readable, bool room) = 0;
  /// Call when the application no longer polls or sleeps on the socket: the worker takes over.
  virtual void let_go() = 0;
  /// Adds the socket to `set`, which reports when the socket is ready, as long as is_plain() is
  /// true.
  virtual void join(std::shared_ptr<SocketSet> set) = 0;
  virtual void leave(const SocketSet* set) = 0;
  /// Returns whether the object waits only for events that a set reports: input, and perhaps room
  /// to send.
  virtual bool is_plain() const = 0;
  /// Returns whether a woken thread must ask the set what the socket is ready for, because the
  /// object waits not only for input but also for room to send, for example.
  virtual bool is_blocked() const = 0;
  /// Sends the posts that are held back to be coalesced. Call when the application polls or is
  /// about to sleep.
  virtual void flush_posts() = 0;
  // Calls before an operation takes away memory or rights that posted requests need:
  /// Returns whether a request posted before this call may not have been given to the socket yet.
  virtual bool may_hold_posts() const = 0;
  /// Returns when the requests posted before this call have been sent, as far as the socket accepts
  /// them. Waits for the lock.
  virtual void sync() = 0;
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  /// Until conceal(), the object calls note_taken() of its sets when it has taken input from the
  /// socket. Each feed calls this while the application has a descriptor that is readable when the
  /// socket is.
  void expose() { exposed_.fetch_add(1); }
  void conceal() { exposed_.fetch_sub(1); }
  /// Returns false if the last poll was for the other completion queue of this object and has found
  /// the socket empty. Then the poll for `queue` need not call the socket, so that alternate polls
  /// of two queues cost one system call.
  bool asks_for(const void* queue) {
    const void* const last = asked_for_.load(std::memory_order_relaxed);
    const bool is_others = last != nullptr && last != queue;
    const void* const next = is_others ? nullptr : queue;
    if (last != next) asked_for_.store(next, std::memory_order_relaxed);
    return !is_others;
  }

 protected:
  ~Driven() = default;

  /// Call after the socket had input: the next poll of either queue calls the socket again.
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
