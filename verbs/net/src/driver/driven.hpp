// SPDX-License-Identifier: Apache-2.0
// Driven: what has sockets and feeds a completion queue, as its feed sees it: a connection, or a
// queue pair of datagrams.
#pragma once

#include <atomic>
#include <memory>

namespace iwarp::net {

class SocketSet;

class Driven {
 public:
  // The poll of an empty queue:
  /// Receives and sends what is possible now. `frequent`: and so do polls to come, so the worker is
  /// not woken until let_go().
  virtual void poll(bool frequent) = 0;
  /// The same, by who knows what the socket is ready for. True: octets came.
  virtual bool polled(bool readable, bool room) = 0;
  // Consumers that sleep on the socket:
  /// The worker is not woken until let_go().
  virtual void sleep_on() = 0;
  /// As polled(), by a thread that was woken. True also where another thread is driving and may
  /// have taken what there was.
  virtual bool ready(bool readable, bool room) = 0;
  /// Nobody comes any more: the worker takes over.
  virtual void let_go() = 0;
  /// The set tells when the socket is ready, as long as is_plain() is true.
  virtual void join(std::shared_ptr<SocketSet> set) = 0;
  virtual void leave(const SocketSet* set) = 0;
  /// The socket is read, and nothing else is to be waited for but room to write.
  virtual bool is_plain() const = 0;
  /// A set alone can tell what the socket is ready for: it also waits for room, for example.
  virtual bool is_blocked() const = 0;
  /// Posts that wait to leave together: the program polls, or is about to sleep.
  virtual void flush_posts() = 0;
  // Calls that take away what posted requests need:
  /// Returns true if a request posted before this call may not have been given to the socket yet.
  virtual bool may_hold_posts() const = 0;
  /// Returns when the socket has been given what it takes of the requests posted before this call.
  /// Waits for the lock.
  virtual void sync() = 0;
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // While a descriptor that the program has is readable when the socket is. Once for each feed.
  /// What is taken from the socket is noted in its sets.
  void expose() { exposed_.fetch_add(1); }
  void conceal() { exposed_.fetch_sub(1); }
  /// Of two queues that are polled in turns, both empty, one asks the socket for both. False: the
  /// other has just done so, in vain.
  bool asks_for(const void* queue) {
    const void* const last = asked_for_.load(std::memory_order_relaxed);
    const bool is_others = last != nullptr && last != queue;
    const void* const next = is_others ? nullptr : queue;
    if (last != next) asked_for_.store(next, std::memory_order_relaxed);
    return !is_others;
  }

 protected:
  ~Driven() = default;

  /// The socket had something. Whoever asks next may find more.
  void octets_came() {
    asked_for_.store(nullptr, std::memory_order_relaxed);
    if (is_exposed()) note_taken();
  }
  bool is_exposed() const { return exposed_.load(std::memory_order_relaxed) != 0; }
  /// SocketSet::note_taken() in each of its sets.
  virtual void note_taken() = 0;

  std::atomic<bool> ended_{false};

 private:
  std::atomic<const void*> asked_for_{nullptr};
  std::atomic<int> exposed_{0};
};

}  // namespace iwarp::net
